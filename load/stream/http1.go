//go:build linux

package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/http1"
	"github.com/cleave-lab/cleave/load/record"
)

// readSize is the size of a connection's read buffer, in bytes: one TLS record.
const readSize = 16 << 10

// http1Link is a connection that speaks HTTP/1.1, with or without TLS. The goroutine of the flow writes
// and reads itself.
type http1Link struct {
	dialer *dialer
	input  []byte
	answer http1.Response

	mu      sync.Mutex // guards conn; the goroutine of the flow alone sets it, so it reads it without mu
	conn    net.Conn   // nil: not connected
	wire    *wire
	aborted bool

	raw    syscall.RawConn
	polled [1]unix.PollFd // memory for the poll in stale; its Events is POLLRDHUP
	closed bool           // result of that poll: the server has closed the connection
}

// isUsable reports whether the connection is open on both sides: servers close idle ones.
func (l *http1Link) isUsable() bool { return l.conn != nil && !l.stale() }

// connect makes a new connection.
func (l *http1Link) connect(ctx context.Context) error {
	l.hangUp()
	w, err := l.dialer.dial(ctx)
	if err != nil {
		return err
	}
	conn := net.Conn(w)
	if l.dialer.tls != nil {
		if conn, err = l.dialer.secure(ctx, w, "http/1.1"); err != nil {
			return err
		}
	}
	return l.hold(conn, w)
}

// hold begins to use a new connection, unless the load has been aborted.
func (l *http1Link) hold(conn net.Conn, w *wire) error {
	socket, ok := w.Conn.(syscall.Conn)
	if !ok {
		return errors.Join(errors.New("stream: the connection is no socket"), w.Close())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return errors.Join(err, w.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted {
		return errors.Join(net.ErrClosed, w.Close())
	}
	l.conn = conn
	l.wire = w
	l.raw = raw
	return nil
}

// stale reports whether the server has closed the connection. Unread data alone does not count, because
// it may be part of TLS itself.
func (l *http1Link) stale() bool {
	err := l.raw.Control(func(fd uintptr) {
		l.polled[0].Fd = int32(fd)
		l.polled[0].Revents = 0
		n, err := unix.Poll(l.polled[:], 0)
		l.closed = err == nil && n > 0
	})
	return err != nil || l.closed
}

// exchange writes the request and reads until the answer is whole.
func (l *http1Link) exchange(x *exchange) {
	header, body := x.session.Needs()
	request := x.session.HTTP1()
	l.answer.Begin(x.session.Bodiless(), header, body)
	received := l.wire.received.Load()
	written := l.wire.written.Load()
	err := l.conn.SetDeadline(time.Now().Add(x.limit))
	x.sent = x.clock()
	if err == nil {
		_, err = l.conn.Write(request)
	}
	reuse := false
	if err == nil {
		reuse, err = l.receive(x)
	}
	x.received = l.wire.received.Load() - received
	x.written = l.wire.written.Load() - written
	if err != nil {
		l.lose(x, err)
		return
	}
	x.answer = l.answer.Answer
	if !reuse {
		l.hangUp()
	}
}

// receive reads the answer and reports whether the connection can be reused. Bytes after an answer belong
// to no request, so they prevent that.
func (l *http1Link) receive(x *exchange) (reuse bool, err error) {
	for {
		n, err := l.conn.Read(l.input)
		if x.first == 0 && n > 0 {
			x.first = x.clock()
		}
		taken, malformed := l.answer.Feed(l.input[:n])
		switch {
		case malformed != nil:
			return false, malformed
		case l.answer.Complete():
			return err == nil && taken == n && !l.answer.Last, nil
		case errors.Is(err, io.EOF) && l.answer.End():
			return false, nil
		case err != nil:
			return false, err
		}
	}
}

// lose ends an exchange and closes its connection.
func (l *http1Link) lose(x *exchange, err error) {
	outcome := outcomeOf(err)
	if outcome == record.OtherError && l.dialer.tls != nil {
		outcome = record.BadTLS // other errors come from records that cannot be decrypted
	}
	isOfAnswer := outcome == record.Malformed || outcome == record.TooLarge
	if below := l.wire.outcome(); below != record.OK && !isOfAnswer {
		outcome = below
	}
	x.fail(outcome, err.Error())
	x.unanswered = x.first == 0 && engine.Disconnected(outcome)
	l.abandon()
}

// hangUp closes the connection, with the closing message of TLS.
func (l *http1Link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // no data is lost
		l.conn = nil
	}
}

// abandon closes the socket without the closing message of TLS, because the server may no longer read.
func (l *http1Link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.wire.Close()
		l.conn = nil
	}
}

// abort closes the connection even while a flow uses it.
func (l *http1Link) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	if l.conn != nil {
		_ = l.wire.Close()
	}
}
