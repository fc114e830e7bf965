package servers

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/cleave-lab/cleave/internal/gobuild"
)

// own has the unit programs that servers are (NATS is one). They are built without the race detector: what
// it finds in them is not about those who call them.
var own built

// built are programs that whoever needs them first builds from our sources, and that are kept until the end
// of Main.
type built struct {
	mu     sync.Mutex
	folder string
}

// with returns the folder that has the program.
func (p *built) with(name string) (folder string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folder == "" {
		if p.folder, err = os.MkdirTemp("", "cleave-own-"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(p.folder, name)
	if _, err := os.Stat(path); err == nil {
		return p.folder, nil
	}
	err = gobuild.Programs(path, []string{"-ldflags=-s -w"}, "github.com/cleave-lab/cleave/cmd/unit/"+name)
	if err != nil {
		return "", err
	}
	// Its user may be another than ours.
	return p.folder, errors.Join(os.Chmod(p.folder, 0o755), os.Chmod(path, 0o755))
}

// end removes them.
func (p *built) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return os.RemoveAll(p.folder)
}
