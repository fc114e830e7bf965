//go:build linux

package eventloop

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// ErrPeerTooSlow means that a peer does not read fast enough what is sent to it.
var ErrPeerTooSlow = errors.New("peer does not read")

// readEvents are the events of a connection that epoll reports. They are edge-triggered,
// so that epoll does not check the socket again before the next wait: a read that does not
// fill the buffer has emptied the socket, and later data are a new edge. EPOLLOUT is only
// added while there is unsent data. Otherwise it would wake the loop whenever a peer reads.
const readEvents = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET

// Conn is one stream connection of a loop.
type Conn struct {
	loop       *Loop
	handler    Handler
	descriptor int
	unconsumed []byte // received, not consumed by the handler yet
	unsent     []byte
	finishing  bool // Finish was called
	closed     bool
}

// Write sends data. It copies the data that the socket does not accept at once, and sends
// it when the socket is writable again. It fails if the connection is lost; the handler's
// Closed is then not called.
func (c *Conn) Write(data []byte) error {
	if c.closed || c.finishing {
		return fmt.Errorf("write %d bytes: %w", len(data), io.ErrClosedPipe)
	}
	if len(c.unsent) > 0 {
		return c.keep(data)
	}
	n, errno := write(c.descriptor, data)
	if errno != 0 && errno != unix.EAGAIN {
		c.Close()
		return fmt.Errorf("write %d bytes: %w", len(data), errno)
	}
	if n == len(data) {
		return nil
	}
	if err := c.keep(data[n:]); err != nil {
		return err
	}
	return c.watch(readEvents | unix.EPOLLOUT)
}

// Close closes the connection at once and drops unsent data. It does not call the
// handler's Closed. A second call does nothing.
func (c *Conn) Close() {
	if c.closed {
		return
	}
	c.closed = true
	c.loop.conns[c.descriptor] = nil
	c.unconsumed = nil
	c.unsent = nil
	// Closing the descriptor removes it from epoll. An error could only concern dropped data.
	_ = unix.Close(c.descriptor)
}

// IsClosed reports whether the connection was closed or lost.
func (c *Conn) IsClosed() bool { return c.closed }

// Finish closes the connection once everything is sent and the peer has closed its side,
// too. Until then it drops what the peer sends. If it closed the connection at once, with
// unread input, the kernel would reset it, and the peer could lose the answer. The handler
// is not called any more. If the peer closes its side first, unsent data are dropped (see end). There is no
// time limit: a peer that does not close its side keeps the connection open.
func (c *Conn) Finish() {
	c.finishing = true
	c.unconsumed = nil
	if !c.closed && len(c.unsent) == 0 {
		c.endSending()
	}
}

// endSending closes the sending side of the socket: the peer reads the end of the stream.
func (c *Conn) endSending() {
	if err := unix.Shutdown(c.descriptor, unix.SHUT_WR); err != nil {
		c.Close() // the peer is gone already
	}
}

// keep appends data to the unsent bytes. If these are too many it closes the connection and returns
// ErrPeerTooSlow.
func (c *Conn) keep(data []byte) error {
	if len(c.unsent)+len(data) > maxUnsent {
		unsent := len(c.unsent)
		c.Close()
		return fmt.Errorf("write %d bytes after %d unsent ones: %w", len(data), unsent, ErrPeerTooSlow)
	}
	c.unsent = append(c.unsent, data...)
	return nil
}

// flush sends unsent data; it is called when the socket has become writable.
func (c *Conn) flush() {
	for len(c.unsent) > 0 {
		n, errno := write(c.descriptor, c.unsent)
		if errno == unix.EAGAIN {
			return
		}
		if errno != 0 {
			c.lose(fmt.Errorf("write %d bytes: %w", len(c.unsent), errno))
			return
		}
		c.unsent = c.unsent[n:]
	}
	c.unsent = nil
	if err := c.watch(readEvents); err != nil {
		c.lose(err)
	}
	if c.finishing && !c.closed {
		c.endSending()
	}
}

// readable reads the received data and passes them to the handler. If ending is set, the peer
// has closed or the connection is broken: it reads up to the end of the stream.
func (c *Conn) readable(ending bool) {
	for {
		n, errno := read(c.descriptor, c.loop.input)
		switch {
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			c.lose(fmt.Errorf("read: %w", errno))
			return
		case n == 0:
			c.end()
			return
		}
		c.deliver(c.loop.input[:n])
		if c.closed {
			return
		}
		if n == len(c.loop.input) {
			// There may be more. Re-arming the watch makes epoll report the rest after the
			// events of other connections.
			if err := c.watch(c.interest()); err != nil {
				c.lose(err)
			}
			return
		}
		if !ending {
			return
		}
	}
}

// deliver passes unconsumed and new bytes to the handler.
func (c *Conn) deliver(data []byte) {
	if c.finishing {
		return
	}
	if len(c.unconsumed) > 0 {
		c.unconsumed = append(c.unconsumed, data...)
		data = c.unconsumed
	}
	consumed, err := c.handler.Data(c, data)
	if c.closed || c.finishing {
		return
	}
	if err != nil {
		c.lose(err)
		return
	}
	rest := data[consumed:]
	if len(rest) == 0 {
		c.unconsumed = nil
		return
	}
	c.unconsumed = append(c.unconsumed[:0], rest...)
}

// end handles the end of the peer's stream. It closes the connection in both
// directions: no protocol here uses half-closed connections.
func (c *Conn) end() {
	if len(c.unconsumed) > 0 || len(c.unsent) > 0 {
		c.lose(fmt.Errorf("peer closed with %d bytes unconsumed and %d unsent: %w",
			len(c.unconsumed), len(c.unsent), io.ErrUnexpectedEOF))
		return
	}
	c.lose(nil)
}

// lose closes the connection and calls the handler's Closed, unless Finish was called before.
func (c *Conn) lose(err error) {
	c.Close()
	if !c.finishing {
		c.handler.Closed(c, err)
	}
}

// interest returns the events to watch for.
func (c *Conn) interest() uint32 {
	if len(c.unsent) > 0 {
		return readEvents | unix.EPOLLOUT
	}
	return readEvents
}

// watch replaces the events that epoll reports. It also makes epoll report the present state again.
func (c *Conn) watch(events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(c.descriptor)}
	if err := unix.EpollCtl(c.loop.poller, unix.EPOLL_CTL_MOD, c.descriptor, &event); err != nil {
		return fmt.Errorf("watch connection: %w", err)
	}
	return nil
}
