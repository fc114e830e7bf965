//go:build linux

// Package eventloop runs many stream connections on one thread: a Linux epoll
// loop over TCP or Unix sockets that calls a handler with the bytes that have
// come and takes bytes to send. Where a message begins and ends is the caller's
// business (package leanhttp frames HTTP/1.1 on top of it). It starts no
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

// Config says how a loop waits. The zero value is fit for
// a loop beside other goroutines.
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

// Handler is told what happens on a connection.
type Handler interface {
	// Data gets the bytes that have come and not been consumed yet; they are
	// valid during the call. It returns how many it has consumed; it is called
	// with the rest again when more has come. After an error the connection is
	// closed and Closed is called with that error.
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
	input     []byte // what was just read, shared by all connections
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

// Stop makes Run return nil once it has handled what has already come.
func (l *Loop) Stop() { l.stopping = true }

// Fail makes Run return err once it has handled what has already come. The
// first failure stays; it also ends every later Run at once.
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

// dispatch never trusts what the event says about the state of a descriptor: an
// earlier event of the same batch may have closed it and opened another under
// its number. Reading and writing tell the truth.
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
