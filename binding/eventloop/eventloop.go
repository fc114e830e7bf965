//go:build linux

// Package eventloop runs many stream connections on one thread, with epoll of
// Linux. It passes bytes received over TCP or Unix sockets to a handler, and sends
// bytes. It does not know where messages end (package leanhttp adds HTTP/1.1). It
// starts no goroutine, keeps buffers only for connections with partly read or
// partly sent data, and allocates nothing per message. It has no timers and no TLS.
//
// Entry points: New, Loop.Listen, Loop.Dial and Loop.Run. All methods of a loop
// and of its connections belong to the goroutine that calls Run.
package eventloop

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// eventsPerWait is the number of descriptors that one wait can report.
	eventsPerWait = 128
	// readSize is the size of the loop's one read buffer, in bytes.
	readSize = 64 << 10
	// maxUnsent limits the unsent bytes of a connection whose peer does not read. If there are more, the
	// connection is lost.
	maxUnsent = 4 << 20
)

// Config configures how a loop waits. The zero value suits a process that also runs
// other goroutines.
type Config struct {
	// Dedicated is for processes that only run this loop and collect no garbage
	// meanwhile. The loop then waits without informing the Go scheduler. That saves
	// about a microsecond and a thread wake-up per wait. But if GOMAXPROCS is 1, no
	// other goroutine runs meanwhile, and a garbage collection would wait for the
	// next event.
	Dedicated bool
	// Yield lets the other processes of the core run once before the loop waits. If
	// peers share the core, their messages arrive meanwhile: then the loop continues
	// without sleeping, the peers need not wake it, and one turn handles more
	// messages. The loop does not spin: if nothing has arrived, it waits.
	Yield bool
}

// Handler handles the events of a connection.
type Handler interface {
	// Data gets the received bytes that are not consumed yet; they are valid during the
	// call. It returns the number of consumed bytes, and gets the rest again together with
	// the next bytes. After an error the connection is closed, and Closed is called with
	// that error.
	Data(c *Conn, data []byte) (consumed int, err error)
	// Closed is called once when the connection is lost, but not after Conn.Close. The
	// error is nil if the peer has closed the connection between messages, that is,
	// without unconsumed and unsent bytes.
	Closed(c *Conn, err error)
}

// Loop is a set of listeners and connections served by one goroutine.
type Loop struct {
	config    Config
	poller    int
	events    [eventsPerWait]unix.EpollEvent
	input     []byte  // read buffer, shared by all connections
	conns     []*Conn // by descriptor; nil: no connection has it
	listeners []*Listener
	stopping  bool
	failure   error // set by Fail
}

// New returns a loop without connections.
func New(config Config) (*Loop, error) {
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll instance: %w", err)
	}
	return &Loop{config: config, poller: poller, input: make([]byte, readSize)}, nil
}

// Run serves until a handler calls Stop or Fail. It may be called again.
func (l *Loop) Run() error {
	for l.stopping = l.failure != nil; !l.stopping; {
		n, errno := l.wait()
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("wait for events: %w", errno)
		}
		// All events of the batch are handled, even if one of them stops the loop:
		// epoll reports them only once, and Run may be called again.
		for i := range n {
			l.dispatch(&l.events[i])
		}
	}
	return l.failure
}

// Stop makes Run return nil after the current batch of events.
func (l *Loop) Stop() { l.stopping = true }

// Fail makes Run return err after the current batch of events. The first error is
// kept; every later Run returns it at once.
func (l *Loop) Fail(err error) {
	if l.failure == nil {
		l.failure = err
	}
	l.stopping = true
}

// Close closes all connections, all listeners and the loop itself, without
// calling any handler.
func (l *Loop) Close() error {
	for _, c := range l.conns {
		if c != nil {
			c.Close()
		}
	}
	for _, listener := range l.listeners {
		listener.close()
	}
	return unix.Close(l.poller)
}

// dispatch handles an event. The event may be about a descriptor that an earlier event of
// the same batch has closed, and whose number another one has now. So only the results of
// reads and writes count.
func (l *Loop) dispatch(event *unix.EpollEvent) {
	descriptor := int(event.Fd)
	if descriptor < len(l.conns) && l.conns[descriptor] != nil {
		c := l.conns[descriptor]
		if event.Events&unix.EPOLLOUT != 0 {
			c.flush()
		}
		if event.Events&^unix.EPOLLOUT != 0 && !c.closed {
			ending := event.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
			c.readable(ending)
		}
		return
	}
	for _, listener := range l.listeners {
		if listener.descriptor == descriptor {
			listener.acceptAll()
		}
	}
}
