// Package hostingtest gives units that tests join what a deployer would give them.
package hostingtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// Identities returns a folder with the identities of units for a value of kit.KnobSecurity.
func Identities(t *testing.T, security string, names ...string) (dir string) {
	t.Helper()
	var units []lab.UnitSpec
	for _, name := range names {
		units = append(units, lab.UnitSpec{Name: name, Role: name})
	}
	dir = t.TempDir()
	err := hosting.Protect(units, security)
	for _, u := range units {
		for name, text := range u.Files {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Output collects what several units write.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns what was written until now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
