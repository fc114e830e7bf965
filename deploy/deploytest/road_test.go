package deploytest

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestARoadThatIsCutCarriesNothing checks that a connection that is made while the road is cut is closed.
func TestARoadThatIsCutCarriesNothing(t *testing.T) {
	road := NewRoad(t, "tcp", "127.0.0.1:1")
	road.Cut()
	here, caller := net.Pipe()
	there, server := net.Pipe()
	defer func() { _, _ = caller.Close(), server.Close() }()
	road.carry(here, there)
	if _, err := caller.Write([]byte("hello")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the caller's connection is still open: %v", err)
	}
}
