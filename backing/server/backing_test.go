package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestEveryTrialHasAServerOfItsOwn(t *testing.T) {
	dir, err := os.MkdirTemp("", "cleave-backing-") // the servers' socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, b := range Backings("cleave-unit", "the label", dir) {
		if b.kind == NATS { // it is started by a program that this test does not have
			continue
		}
		t.Run(b.Kind(), func(t *testing.T) {
			var missing *MissingError
			if err := b.Preflight(); errors.As(err, &missing) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			service, err := b.Fresh(t.Context(), lab.ServiceSpec{Name: "part", Kind: b.Kind()}, dir)
			if err != nil {
				t.Fatal(err)
			}
			processes := service.Processes()
			if len(processes) != 1 || processes[0].Role != "part" || processes[0].PID == 0 {
				t.Fatalf("processes %+v", processes)
			}
			if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", processes[0].PID)); err != nil || strings.HasPrefix(string(name), "epmd") {
				t.Errorf("the meter would watch %s instead of the server (%v)", name, err)
			}
			if !strings.Contains(service.Address(), "@127.0.0.1:") || (b.kind == Mongo) != strings.Contains(service.About(), "stand-in") {
				t.Errorf("address with %d characters, about %q", len(service.Address()), service.About())
			}
			if b.kind == MariaDB { // all servers are killed and started again in other tests
				expectSecondLife(t, service)
			}
			if err := service.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// expectSecondLife kills the server of a trial and starts it again: with the same
// address, as another process.
func expectSecondLife(t *testing.T, service lab.Service) {
	t.Helper()
	address, before := service.Address(), service.Processes()[0].PID
	parts := service.(lab.Restarter)
	if err := parts.Kill("part"); err != nil || len(service.Processes()) != 0 {
		t.Fatalf("Kill: %v, processes %+v", err, service.Processes())
	}
	if err := parts.Kill("part"); err == nil || !strings.Contains(err.Error(), "has ended before it was killed") {
		t.Errorf("Kill of the dead: %v", err)
	}
	if err := parts.Restart(t.Context(), "part"); err != nil {
		t.Fatal(err)
	}
	if after := service.Processes(); len(after) != 1 || after[0].PID == before || service.Address() != address {
		t.Errorf("processes %+v after %d, the address is the same: %v", after, before, service.Address() == address)
	}
}
