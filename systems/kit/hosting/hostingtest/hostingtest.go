// Package hostingtest gives units that tests join what a deployer would give them.
package hostingtest

import (
	"errors"
	"os"
	"path/filepath"
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
