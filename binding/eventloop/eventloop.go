//go:build linux

// Package eventloop runs many stream connections on one thread: a Linux epoll
// loop over TCP or Unix sockets that passes received bytes to a handler and sends
// bytes. It does not frame messages (package leanhttp frames HTTP/1.1 on top of it). It starts no
// goroutine, keeps no buffer for a connection that has nothing half-read or
// half-sent, and allocates nothing per message. It has no timers and no TLS.
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
	// maxUnsent is the number of bytes that one connection may have waiting for a peer that does not
	// read; beyond it the connection is lost.
	maxUnsent = 4 << 20
)

// Config configures how a loop waits. The zero value suits a process that also runs
// other goroutines.
type Config struct {
	// Dedicated is for processes that do nothing but run this loop and collect
	// no garbage while they do: the loop then waits without telling the Go
	// scheduler. That saves about a microsecond and a thread wake-up per wait,
	// but no other goroutine runs meanwhile where GOMAXPROCS is 1, and a garbage
	// collection would last until the next event.
	Dedicated bool
	// Yield lets the other processes of the core run once before the loop waits.
	// Where peers share a core, their messages come meanwhile: the loop then goes
	// on without having slept, they need not wake it, and one turn handles more
	// messages. It does not spin: a loop that finds nothing after that waits.
	Yield bool
}

// Handler handles the events of a connection.
type Handler interface {
	// Data gets the received bytes that are not consumed yet; they are valid during the
	// call. It returns the number of bytes that it has consumed, and gets the rest again
	// together with the next bytes. After an error the connection is closed and Closed is
	// called with that error.
	Data(c *Conn, data []byte) (consumed int, err error)
	// Closed is called once when the connection is lost, but not after
	// Conn.Close. The error is nil when the peer has closed in between messages,
	// that is with nothing unconsumed and nothing unsent.
	Closed(c *Conn, err error)
}

// Loop is a set of listeners and connections served by one goroutine.
type Loop struct {
	config    Config
	poller    int
	events    [eventsPerWait]unix.EpollEvent
	input     []byte // read buffer, shared by all connections
	conns     []*Conn
	listeners []*Listener
	stopping  bool
	failure   error
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
		// Every event of the batch is handled even when one of them stops the
		// loop: they are reported once only, and Run may be called again.
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

// dispatch handles an event. It does not rely on the event for the state of the
// descriptor: an earlier event of the same batch may have closed it and opened another
// with its number. Only the results of reads and writes count.
func (l *Loop) dispatch(event *unix.EpollEvent) {
	descriptor := int(event.Fd)
	if descriptor < len(l.conns) && l.conns[descriptor] != nil {
		c := l.conns[descriptor]
		if event.Events&unix.EPOLLOUT != 0 {
			c.flush()
		}
		if event.Events&^unix.EPOLLOUT != 0 && !c.closed {
			c.readable(event.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
		}
		return
	}
	for _, listener := range l.listeners {
		if listener.descriptor == descriptor {
			listener.acceptAll()
		}
	}
}
