package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// own has the unit programs that servers are (NATS is one). They are built without the race detector: what
// it finds in them is not about those who call them.
var own programs

// programs are built from our sources by whoever needs them first, and kept until the end of Main.
type programs struct {
	mu     sync.Mutex
	folder string
}

// with is the folder that has the program.
func (p *programs) with(name string) (folder string, err error) {
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
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path,
		"github.com/cleave-lab/cleave/cmd/unit/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the unit program %s: %w: %s", name, err, text)
	}
	// Its user may be another than ours.
	return p.folder, errors.Join(os.Chmod(p.folder, 0o755), os.Chmod(path, 0o755))
}

// end removes them.
func (p *programs) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return os.RemoveAll(p.folder)
}
