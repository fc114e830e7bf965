package containers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Images brings the images of units to the nodes of a platform, each once for all trials, and keeps the names
// that the nodes have for them. The methods may be called from several goroutines.
type Images struct {
	Programs string // folder of our unit programs, or the only one
	IsRemote bool   // the nodes have nothing of this host
	Made     *fleet.Made
	// Load brings an image to all nodes and returns its name there. content is the path of a program of ours, ""
	// for none, what registryContent returns, or the name of a user's image; bytes are 0 if unknown.
	Load func(ctx context.Context, content string, isUsers bool) (name string, bytes int, err error)

	mu    sync.Mutex
	names map[string]string // by content
}

// contentOf returns the content of a unit's image, as Load takes it.
func (i *Images) contentOf(spec lab.UnitSpec) string {
	if i.IsRemote && spec.Program != "" {
		return registryContent(spec)
	}
	return cmp.Or(spec.Image, UnitProgram(i.Programs, spec))
}

// Of returns the name that the nodes have for a unit's image; "" if Bring has not brought it.
func (i *Images) Of(spec lab.UnitSpec) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.names[i.contentOf(spec)]
}

// Bring brings the images of units to the nodes.
func (i *Images) Bring(ctx context.Context, units []lab.UnitSpec) error {
	for _, spec := range units {
		if _, err := i.bring(ctx, i.contentOf(spec), spec.Image != ""); err != nil {
			return err
		}
	}
	return nil
}

// Bare brings an image without a unit program to the nodes, and returns its name.
func (i *Images) Bare(ctx context.Context) (string, error) { return i.bring(ctx, "", false) }

// bring calls Load for a content that the nodes do not have yet, and returns the name of its image.
func (i *Images) bring(ctx context.Context, content string, isUsers bool) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if name := i.names[content]; name != "" {
		return name, nil
	}
	begun := time.Now()
	name, bytes, err := i.Load(ctx, content, isUsers)
	if err != nil {
		return "", err
	}
	if i.names == nil {
		i.names = map[string]string{}
	}
	i.names[content] = name
	i.Made.Image(firstProgram(content), int64(bytes), begun)
	return name, nil
}

// Forget returns the names of all images and forgets them, for nodes that are gone: Bring then brings them
// again.
func (i *Images) Forget() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := slices.Collect(maps.Values(i.names))
	i.names = nil
	return all
}
