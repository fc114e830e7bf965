package fleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/cleave-lab/cleave/binding/accept"
)

// Forwards holds listeners on this host's loopback, one for each endpoint of units that this host cannot
// reach directly. They forward connections to the units.
type Forwards struct {
	supervisor *Supervisor
	connect    func(endpoint string) (net.Conn, error)
	ended      context.Context // ends with Close
	end        context.CancelFunc

	mu        sync.Mutex
	listeners map[string]net.Listener // by endpoint
}

// NewForwards returns Forwards that reach an endpoint by connect. If that fails, the caller's connection is
// closed.
func (s *Supervisor) NewForwards(connect func(endpoint string) (net.Conn, error)) *Forwards {
	f := &Forwards{supervisor: s, connect: connect, listeners: map[string]net.Listener{}}
	f.ended, f.end = context.WithCancel(context.Background())
	return f
}

// To returns the address of the listener for an endpoint, and starts it if there is none. If it cannot, it
// fails the trial and returns "".
func (f *Forwards) To(endpoint string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if listener := f.listeners[endpoint]; listener != nil {
		return listener.Addr().String()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.supervisor.Fail(fmt.Errorf("listen for callers of unit %s: %w", endpoint, err))
		return ""
	}
	f.listeners[endpoint] = listener
	if f.ended.Err() != nil {
		_ = listener.Close() // its address refuses callers
	}
	go func() {
		_ = accept.Each(listener, func(caller net.Conn) { go f.forward(caller, endpoint) }) // until it is closed
	}()
	return listener.Addr().String()
}

// forward forwards a caller's connection until either side closes it.
func (f *Forwards) forward(caller net.Conn, endpoint string) {
	defer func() { _ = caller.Close() }() // everything was sent
	unit, err := f.connect(endpoint)
	if err != nil {
		return
	}
	defer func() { _ = unit.Close() }()
	defer context.AfterFunc(f.ended, func() { _ = unit.Close() })() // nobody reads it any more
	go func() {
		_, _ = io.Copy(unit, caller) // until the caller closes its side
		_ = unit.Close()
	}()
	_, _ = io.Copy(caller, unit)
}

// Close closes all listeners and connections.
func (f *Forwards) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	for _, listener := range f.listeners {
		_ = listener.Close() // it has nothing to flush
	}
}
