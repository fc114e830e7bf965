package deploytest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Road forwards connections to a manager, an API server or a registry, until it is cut.
type Road struct {
	net.Listener
	mu    sync.Mutex
	open  []net.Conn
	isCut bool
}

// NewRoad returns a Road from a free port of this host to an address, such as network "tcp" or "unix". It is
// cut with the test.
func NewRoad(t *testing.T, network, to string) *Road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	r := &Road{Listener: listener}
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
			r.carry(here, there)
		}
	}()
	t.Cleanup(r.Cut)
	return r
}

// carry copies between two connections, in both directions, until one of them ends or the road is cut.
func (r *Road) carry(here, there net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCut { // while there was dialled
		_, _ = here.Close(), there.Close()
		return
	}
	r.open = append(r.open, here, there)
	for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		}()
	}
}

// Cut closes the road and all its connections.
func (r *Road) Cut() {
	_ = r.Listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for _, connection := range r.open {
		_ = connection.Close()
	}
}
