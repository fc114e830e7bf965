package rendezvous

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

func TestAddresses(t *testing.T) {
	core := lab.PeerVariable(big.RoleCore)
	t.Setenv("CLEAVE_ADDRESS", "127.0.0.1:1")
	t.Setenv(core, "")
	if _, _, err := Addresses(); err == nil || !strings.Contains(err.Error(), core) {
		t.Errorf("no core: error %v, want one that names %s", err, core)
	}
	t.Setenv(core, "127.0.0.1:2")
	if own, core, err := Addresses(); err != nil || own != "127.0.0.1:1" || core != "127.0.0.1:2" {
		t.Errorf("addresses %q and %q, error %v", own, core, err)
	}
}

func TestListenSaysWhatToDoAboutATakenAddress(t *testing.T) {
	for network, c := range map[string]struct{ address, advice string }{
		"tcp":  {"127.0.0.1:0", "end the program that holds it, or run again"},
		"unix": {filepath.Join(t.TempDir(), "core.sock"), "remove the file"},
	} {
		first, err := Listen(network, c.address)
		testset.Must(t, err)
		defer func() { _ = first.Close() }() // nothing is buffered
		taken := first.Addr().String()
		if _, err := Listen(network, taken); !errors.Is(err, syscall.EADDRINUSE) ||
			!strings.Contains(err.Error(), taken) || !strings.Contains(err.Error(), c.advice) {
			t.Errorf("%s: error %v, want the address and what to do", network, err)
		}
	}
}

func TestWithCore(t *testing.T) {
	other := errors.New("core answers 400")
	for _, test := range []struct {
		name     string
		outcomes []error // of the attempts; the last one repeats
		want     error
		attempts int
	}{
		{"core is there", []error{nil}, nil, 1},
		{"core is late", []error{syscall.ENOENT, fmt.Errorf("dial: %w", syscall.ECONNREFUSED), nil}, nil, 3},
		{"core refuses the message", []error{syscall.ENOENT, other}, other, 2},
		{"core never comes", []error{syscall.ECONNREFUSED}, syscall.ECONNREFUSED, 6002},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				err := WithCore(func() error {
					attempts++
					return test.outcomes[min(attempts, len(test.outcomes))-1]
				})
				if !errors.Is(err, test.want) || attempts != test.attempts {
					t.Errorf("error %v after %d attempts, want %v after %d", err, attempts, test.want, test.attempts)
				}
			})
		})
	}
}
