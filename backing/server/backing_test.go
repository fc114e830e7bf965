package server

import (
	"errors"
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
	for _, b := range Backings("cleave-unit") {
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
				t.Errorf("processes %+v", processes)
			}
			if !strings.Contains(service.Address(), "@127.0.0.1:") || (b.kind == Mongo) != strings.Contains(service.About(), "stand-in") {
				t.Errorf("address with %d characters, about %q", len(service.Address()), service.About())
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
