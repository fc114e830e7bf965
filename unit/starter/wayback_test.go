package starter

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// way is a running wayBack with its two listeners, until the test ends.
type way struct {
	units, conductor net.Listener
	said             *bufio.Reader // the messages of wayBack
}

func newWay(t *testing.T) way {
	t.Helper()
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return listener
	}
	heard, said := io.Pipe()
	t.Cleanup(func() { _ = heard.Close() })
	w := way{listen(), listen(), bufio.NewReader(heard)}
	go func() { _ = wayBack(w.units, w.conductor, "key", said) }()
	return w
}

// calls connects to a listener and sends a text.
func calls(t *testing.T, listener net.Listener, says string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		err = connection.SetDeadline(time.Now().Add(time.Minute))
	}
	if err == nil {
		_, err = io.WriteString(connection, says)
	}
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// TestWayBack: a unit is connected with a connection of the conductor that still works. Each of these is used
// once. A connection without the key gets no unit.
func TestWayBack(t *testing.T) {
	w := newWay(t)
	heard := func(from net.Conn, want string) {
		t.Helper()
		text := make([]byte, len(want))
		if _, err := io.ReadFull(from, text); err != nil || string(text) != want {
			t.Fatalf("heard %q (%v), want %q", text, err, want)
		}
	}
	heard(calls(t, w.conductor, "no key\n"+lab.StarterWaits+"\n"), "that is not what waits for a unit\n")
	gone := calls(t, w.conductor, "key\n"+lab.StarterWaits+"\n")
	must(t, gone.Close())
	for range 2 {
		unit := calls(t, w.units, "spans")
		conductor := calls(t, w.conductor, "key\n"+lab.StarterWaits+"\n")
		heard(conductor, lab.StarterCalled)
		_, err := io.WriteString(conductor, lab.StarterCalled+"taken")
		must(t, err)
		heard(conductor, "spans")
		heard(unit, "taken")
		must(t, unit.Close())
		if rest, err := io.ReadAll(conductor); err != nil || len(rest) > 0 {
			t.Errorf("after the unit's end there is %q (%v)", rest, err)
		}
	}
}

// TestWhoIsHungUpOnIsSaid: a message names a unit whose connection is closed because there are too many.
func TestWhoIsHungUpOnIsSaid(t *testing.T) {
	w := newWay(t)
	for range maxCallers {
		calls(t, w.units, "")
	}
	last := calls(t, w.units, "")
	said, err := w.said.ReadString('\n')
	if err != nil || !strings.HasPrefix(said, "hung up on "+last.LocalAddr().String()+": ") {
		t.Errorf("it says %q (%v)", said, err)
	}
}
