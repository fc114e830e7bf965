package deploytest

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// NoError fails the test if there is an error, and lets it go on.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Says fails the test unless an error contains all of these words.
func Says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want it to say %q", err, word)
		}
	}
}

// Silent returns the address of a daemon that answers nothing, until the test ends. The kernel accepts
// connections for it.
func Silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // nothing was accepted
	return listener.Addr().String()
}

// GivesUp checks that the preflight of a deployer whose daemon is silent ends with its context.
func GivesUp(t *testing.T, d lab.Deployer) {
	t.Helper()
	l := Layout("front", "stock")
	l.Units[1].Image = "nginx:1"
	l.Units[1].Foreign = true // so that Docker is asked for the image
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	err := d.Preflight(ctx, l)
	if took := time.Since(begun); err == nil || took > 5*time.Second {
		t.Errorf("Preflight of %s: %v after %v, want an error with the end of its context", d.Name(), err, took)
	}
}

// CannotBegin checks that a deployment that fails before any unit starts leaves no folder.
func CannotBegin(t *testing.T, d lab.Deployer) {
	t.Helper()
	dir := Folder(t)
	if _, err := d.Deploy(t.Context(), Layout("front"), dir); err == nil {
		t.Errorf("%s has deployed units", d.Name())
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the trial's folder is still there: %v", err)
	}
}
