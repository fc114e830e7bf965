package fleet

import (
	"io"
	"net"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestNoDescriptorIsLeft for a caller of a door: the next is led in.
func TestNoDescriptorIsLeft(t *testing.T) {
	doors := NewSupervisor(lab.Layout{}, t.TempDir()).NewDoors(func(endpoint string) (net.Conn, error) {
		unit, inside := net.Pipe()
		go func() {
			_, _ = io.WriteString(unit, "this is "+endpoint) // it is read, or the door is closed
			_ = unit.Close()
		}()
		return inside, nil
	})
	defer doors.Close()
	testset.CallWithoutDescriptors(t, doors.To("front"))
	caller, err := net.Dial("tcp", doors.To("front"))
	deploytest.Must(t, err)
	if text, err := io.ReadAll(caller); string(text) != "this is front" || err != nil {
		t.Errorf("the unit says %q, %v", text, err)
	}
	_ = caller.Close() // all was said
}
