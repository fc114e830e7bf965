package deploytest

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestACutForwarderForwardsNothing checks that a connection is closed if the forwarder is cut while it is
// made.
func TestACutForwarderForwardsNothing(t *testing.T) {
	forwarder := NewForwarder(t, "tcp", "127.0.0.1:1")
	forwarder.Cut()
	here, caller := net.Pipe()
	there, server := net.Pipe()
	defer func() { _, _ = caller.Close(), server.Close() }()
	forwarder.forward(here, there)
	if _, err := caller.Write([]byte("hello")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the caller's connection is still open: %v", err)
	}
}
