package hostingtest

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/unit"
)

// idle is a unit that answers nobody.
type idle struct{}

func (idle) Serve(ctx context.Context, listener net.Listener) error {
	<-ctx.Done()
	return listener.Close()
}
func (idle) Report(*unit.Channel) error { return nil }
func (idle) Close() error               { return nil }

// TestUnitsThatCannotBeOpenedLeaveNoListener: neither those that serve, nor the one that fails, nor those
// after it.
func TestUnitsThatCannotBeOpenedLeaveNoListener(t *testing.T) {
	broken := errors.New("broken")
	var taken map[string]string
	_, _, err := Serve([]string{"a", "b", "c"},
		func(_ context.Context, unit string, addresses map[string]string) (hosting.Served, error) {
			if taken = addresses; unit == "b" {
				return nil, broken
			}
			return idle{}, nil
		})
	if !errors.Is(err, broken) || len(taken) != 3 {
		t.Errorf("%v, with units at %v", err, taken)
	}
	for name, address := range taken {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close() // nothing was sent
			t.Errorf("somebody listens at the address of %s", name)
		}
	}
}
