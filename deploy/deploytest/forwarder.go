package deploytest

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// Forwarder forwards connections to a manager, an API server or a registry, until it is cut.
type Forwarder struct {
	net.Listener
	ended context.Context // ends with Cut
	end   context.CancelFunc
}

// NewForwarder returns a Forwarder from a free port of this host to an address. network is that of the
// address, "tcp" or "unix". The Forwarder is cut with the test.
func NewForwarder(t *testing.T, network, to string) *Forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	f := &Forwarder{Listener: listener}
	f.ended, f.end = context.WithCancel(context.Background())
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial(network, to)
			if err != nil {
				_ = here.Close()
				continue
			}
			f.forward(here, there)
		}
	}()
	t.Cleanup(f.Cut)
	return f
}

// forward copies between two connections, in both directions, until one of them ends or the forwarder is cut.
func (f *Forwarder) forward(here, there net.Conn) {
	for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
		context.AfterFunc(f.ended, func() { _ = pair[0].Close() })
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		}()
	}
}

// Cut closes the listener and all connections.
func (f *Forwarder) Cut() {
	_ = f.Listener.Close()
	f.end()
}
