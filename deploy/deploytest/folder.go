package deploytest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// programInAFolder deploys a foreign program that lies in a folder of its own, which it
// may read, and which the others wait for. In a container it cannot write there.
func programInAFolder(t *testing.T, s suite) {
	program := Program(t)
	folder := filepath.Dir(program)
	if err := os.WriteFile(filepath.Join(folder, "goods"), []byte("flour"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "flour"
	if s.Name() == lab.Process {
		want += ", may write"
	}
	l := layout("shelf")
	early, ready := false, false
	l.Units[1] = lab.UnitSpec{
		Name: "shelf", Role: "shelf", Foreign: true, Listens: true, Program: program, Args: []string{"shelf", folder}, Reads: []string{folder},
		Ready: func(_ context.Context, address string) error {
			if _, err := os.Stat(filepath.Join(s.dir, l.Lead)); !errors.Is(err, fs.ErrNotExist) {
				early = true
			}
			err := hears(address, want)
			ready = err == nil
			return err
		},
	}
	d := s.deploy(t, l)
	defer stop(t, d)
	if early || !ready {
		t.Errorf("the lead was started early (%t); the shelf was found to be ready: %t", early, ready)
	}
	job(t, d)
	harm(t, d.(lab.Harmer), "shelf", lab.FaultKill)
	heal(t, d.(lab.Harmer), "shelf", lab.FaultKill)
	if got := ask(t, d, "shelf"); got != want {
		t.Errorf("started again it says %q, want %q", got, want)
	}
}
