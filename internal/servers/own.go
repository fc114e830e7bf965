package servers

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/cleave-lab/cleave/internal/gobuild"
)

// own holds the servers that are unit programs of Cleave, such as NATS. They are built without the race
// detector, because races in them must not fail the tests that use them.
var own builtPrograms

// builtPrograms builds programs from our sources when they are first needed, and keeps them until the end of
// Main.
type builtPrograms struct {
	mu     sync.Mutex
	folder string
}

// folderWith returns the folder of the programs, after it has built the program of that name if needed.
func (p *builtPrograms) folderWith(name string) (folder string, err error) {
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
	// Servers may run as another user.
	return p.folder, errors.Join(os.Chmod(p.folder, 0o755), os.Chmod(path, 0o755))
}

// end removes the programs.
func (p *builtPrograms) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return os.RemoveAll(p.folder)
}
