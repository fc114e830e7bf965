package deploytest

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// Forwarder forwards connections to a manager, an API server or a registry, until it is cut.
type Forwarder struct {
	net.Listener
	mu    sync.Mutex
	open  []net.Conn
	isCut bool
}

// NewForwarder returns a Forwarder from a free port of this host to an address. network is that of the
// address, "tcp" or "unix". The Forwarder is cut with the test.
func NewForwarder(t *testing.T, network, to string) *Forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	f := &Forwarder{Listener: listener}
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
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isCut { // since here was accepted
		_, _ = here.Close(), there.Close()
		return
	}
	f.open = append(f.open, here, there)
	for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		}()
	}
}

// Cut closes the listener and all connections.
func (f *Forwarder) Cut() {
	_ = f.Listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isCut = true
	for _, connection := range f.open {
		_ = connection.Close()
	}
}
