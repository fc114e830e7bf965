package accept

import (
	"io"
	"net"
	"testing"
	"time"
)

// forkTimeout is the longest time that a fork may take.
const forkTimeout = 5 * time.Second

// arrival is a connection, and the branch that has accepted it.
type arrival struct {
	net.Conn
	branch net.Listener
}

// TestForkGoesByTheBeginning sends the first bytes of connections in one part and in two. The branch that
// accepts a connection can read all of them.
func TestForkGoesByTheBeginning(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		at := "127.0.0.1:0"
		if network == "unix" {
			at = t.TempDir() + "/s"
		}
		listener, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		matching, others := Fork(listener, "PRI")
		arrivals := make(chan arrival, 1)
		ends := make(chan error, 2) // endsWithBoth leaves one arrival
		for _, branch := range []net.Listener{matching, others} {
			go func() {
				for {
					connection, err := branch.Accept()
					if err != nil {
						ends <- err
						return
					}
					arrivals <- arrival{connection, branch}
				}
			}()
		}
		for _, c := range []struct {
			parts []string
			to    net.Listener
		}{
			{[]string{"PRI * HTTP/2.0"}, matching}, {[]string{"P", "RI"}, matching}, {[]string{"PUT /"}, others},
			{[]string{"PR", "O"}, others}, {[]string{"X"}, others}, {[]string{""}, others},
		} {
			sent := send(t, listener.Addr(), c.parts)
			select {
			case served := <-arrivals:
				if served.branch != c.to {
					t.Errorf("%s: %q has come to the other branch", network, sent)
				}
				if got, err := io.ReadAll(served); string(got) != sent || err != nil {
					t.Errorf("%s: sent %q, read %q, %v", network, sent, got, err)
				}
				if err := served.Close(); err != nil {
					t.Error(err)
				}
			case <-time.After(forkTimeout):
				t.Fatalf("%s: %q has come to no branch", network, sent)
			}
		}
		endsWithBoth(t, listener.Addr(), matching, others, ends)
	}
}

// send connects, sends a text in parts, and closes the connection.
func send(t *testing.T, to net.Addr, parts []string) (sent string) {
	t.Helper()
	client, err := net.Dial(to.Network(), to.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if _, err := io.WriteString(client, part); err != nil {
			t.Error(err)
		}
		sent += part
		time.Sleep(10 * time.Millisecond) // so that parts arrive separately
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	return sent
}

// endsWithBoth closes the branches: the address accepts connections until both are closed, and not after
// that.
func endsWithBoth(t *testing.T, at net.Addr, matching, others net.Listener, ends <-chan error) {
	t.Helper()
	listens := func() bool {
		client, err := net.Dial(at.Network(), at.String())
		return err == nil && client.Close() == nil
	}
	if err := matching.Close(); err != nil {
		t.Error(err)
	}
	if !listens() {
		t.Errorf("%s: one branch is open, and nobody listens", at)
	}
	if err := others.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		select {
		case <-ends:
		case <-time.After(forkTimeout):
			t.Fatalf("%s: a closed branch accepts", at)
		}
	}
	for begun := time.Now(); listens(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > forkTimeout {
			t.Fatalf("%s: both branches are closed, and somebody listens", at)
		}
	}
}
