package fleet

import (
	"io"
	"net"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestForwardsSurviveALackOfDescriptors checks that callers are forwarded again after the process had no file
// descriptor left for one.
func TestForwardsSurviveALackOfDescriptors(t *testing.T) {
	forwards := NewSupervisor(lab.Layout{}, t.TempDir()).NewForwards(func(endpoint string) (net.Conn, error) {
		unit, inside := net.Pipe()
		go func() {
			_, _ = io.WriteString(unit, "this is "+endpoint) // it is read, or closed
			_ = unit.Close()
		}()
		return inside, nil
	})
	defer forwards.Close()
	testset.CallWithoutDescriptors(t, forwards.To("front"))
	caller, err := net.Dial("tcp", forwards.To("front"))
	testset.Must(t, err)
	if text, err := io.ReadAll(caller); string(text) != "this is front" || err != nil {
		t.Errorf("the unit says %q, %v", text, err)
	}
	_ = caller.Close() // the answer has been read
}
