package starter

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// tunnel is a running serveTunnel with its two listeners, until the test ends.
type tunnel struct {
	units, conductor net.Listener
	log              *bufio.Reader // the messages of serveTunnel
}

func newTunnel(t *testing.T) tunnel {
	t.Helper()
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testset.Must(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return listener
	}
	messages, log := io.Pipe()
	t.Cleanup(func() { _ = messages.Close() })
	w := tunnel{listen(), listen(), bufio.NewReader(messages)}
	go func() { _ = serveTunnel(w.units, w.conductor, "key", log) }()
	return w
}

// call connects to a listener and sends a text.
func call(t *testing.T, listener net.Listener, text string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		err = connection.SetDeadline(time.Now().Add(time.Minute))
	}
	if err == nil {
		_, err = io.WriteString(connection, text)
	}
	testset.Must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// TestTunnel: a unit is connected with a connection of the conductor that still works. Each of these is used
// once. A connection without the key gets no unit.
func TestTunnel(t *testing.T) {
	w := newTunnel(t)
	expect := func(from net.Conn, want string) {
		t.Helper()
		text := make([]byte, len(want))
		if _, err := io.ReadFull(from, text); err != nil || string(text) != want {
			t.Fatalf("received %q (%v), want %q", text, err, want)
		}
	}
	expect(call(t, w.conductor, "no key\n"+lab.StarterWaits+"\n"),
		"this is no connection that waits for a unit\n")
	gone := call(t, w.conductor, "key\n"+lab.StarterWaits+"\n")
	testset.Must(t, gone.Close())
	for range 2 {
		unit := call(t, w.units, "spans")
		conductor := call(t, w.conductor, "key\n"+lab.StarterWaits+"\n")
		expect(conductor, lab.StarterHeld+lab.StarterCalled)
		_, err := io.WriteString(conductor, lab.StarterCalled+"taken")
		testset.Must(t, err)
		expect(conductor, "spans")
		expect(unit, "taken")
		testset.Must(t, unit.Close())
		if rest, err := io.ReadAll(conductor); err != nil || len(rest) > 0 {
			t.Errorf("after the unit's end there is %q (%v)", rest, err)
		}
	}
}

// TestTooManyUnits: a message names the unit whose connection is closed because there are too many.
func TestTooManyUnits(t *testing.T) {
	w := newTunnel(t)
	for range maxCallers {
		call(t, w.units, "")
	}
	last := call(t, w.units, "")
	message, err := w.log.ReadString('\n')
	if err != nil || !strings.HasPrefix(message, "hung up on "+last.LocalAddr().String()+": ") {
		t.Errorf("message %q (%v)", message, err)
	}
}
