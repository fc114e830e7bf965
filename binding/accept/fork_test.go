package accept

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestForkGoesByTheBeginning sends the beginning of connections in one piece and in two. All bytes are there
// for the branch that gets a connection.
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
		those, others := Fork(listener, "PRI")
		for _, c := range []struct {
			parts []string
			to    net.Listener
		}{
			{[]string{"PRI * HTTP/2.0"}, those}, {[]string{"P", "RI"}, those}, {[]string{"PUT /"}, others},
			{[]string{"PR", "O"}, others}, {[]string{""}, others},
		} {
			client, err := net.Dial(network, listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			sent := ""
			for _, part := range c.parts {
				if _, err := io.WriteString(client, part); err != nil {
					t.Error(err)
				}
				sent += part
				time.Sleep(10 * time.Millisecond) // so that a part comes alone
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			served, err := c.to.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(served); string(got) != sent || err != nil {
				t.Errorf("%s: sent %q, read %q, %v", network, sent, got, err)
			}
			if err := served.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := those.Close(); err != nil {
			t.Error(err)
		}
		if client, err := net.Dial(network, listener.Addr().String()); err != nil {
			t.Errorf("one branch is open, and nobody listens: %v", err)
		} else if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := others.Close(); err != nil {
			t.Error(err)
		}
		if _, err := others.Accept(); err == nil {
			t.Error("a closed branch accepts")
		}
	}
}
