package starter

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestWayBack: a unit gets a connection of the conductor's that still works, and each is used once. Who has
// no key gets no unit.
func TestWayBack(t *testing.T) {
	var at [2]net.Listener
	for i := range at {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		at[i] = listener
	}
	go func() { _ = wayBack(at[0], at[1], "key") }() // until they are closed
	dial := func(listener net.Listener, says string) net.Conn {
		t.Helper()
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			err = connection.SetDeadline(time.Now().Add(time.Minute))
		}
		if err == nil {
			_, err = io.WriteString(connection, says)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		return connection
	}
	heard := func(from net.Conn, want string) {
		t.Helper()
		text := make([]byte, len(want))
		if _, err := io.ReadFull(from, text); err != nil || string(text) != want {
			t.Fatalf("heard %q (%v), want %q", text, err, want)
		}
	}
	heard(dial(at[1], "no key\n"+lab.StarterWaits+"\n"), "that is not what waits for a unit\n")
	gone := dial(at[1], "key\n"+lab.StarterWaits+"\n")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		unit := dial(at[0], "spans")
		conductor := dial(at[1], "key\n"+lab.StarterWaits+"\n")
		heard(conductor, lab.StarterCalled)
		if _, err := io.WriteString(conductor, lab.StarterCalled+"taken"); err != nil {
			t.Fatal(err)
		}
		heard(conductor, "spans")
		heard(unit, "taken")
		if err := unit.Close(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(conductor); err != nil || len(rest) > 0 {
			t.Errorf("after the unit's end there is %q (%v)", rest, err)
		}
	}
}
