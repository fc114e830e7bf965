package deploytest

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestACutForwarderForwardsNothing checks that a connection is closed if the forwarder is cut while it is
// made.
func TestACutForwarderForwardsNothing(t *testing.T) {
	forwarder := NewForwarder(t, "tcp", "127.0.0.1:1")
	forwarder.Cut()
	here, caller := net.Pipe()
	there, server := net.Pipe()
	defer func() {
		_ = caller.Close()
		_ = server.Close()
	}()
	forwarder.forward(here, there)
	testset.Must(t, caller.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := caller.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the caller's connection is still open: %v", err)
	}
}
