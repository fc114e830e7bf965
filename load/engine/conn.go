//go:build linux

package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/http1"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// state is the state of a slot of the pool.
type state uint8

const (
	vacant state = iota
	connecting
	idle
	busy // a request is being sent or answered
)

// conn is a slot of the pool: a connection, or room for one. A flow keeps its slot from its first step to
// its last.
type conn struct {
	fd         int
	slot       int32 // index in the pool
	generation int32 // number of the connection in this slot, which distinguishes late events of a former one
	state      state
	assigned   bool   // an operation waits for it or is in flight on it
	thinking   bool   // its flow is between two steps
	reads      bool   // the session reads more of the answer than its status
	resent     bool   // its request was sent again, on this connection
	pushes     bool   // the poller reports when the socket accepts more of the request
	unsent     []byte // rest of the request
	session    scenario.Session
	answer     http1.Response
	older      *conn // neighbours in the order of sending, for time limits
	newer      *conn
	// Times of the operation, since the beginning of the load:
	due         time.Duration
	flow        time.Duration // when its flow was due
	free        time.Duration // when the connection was last ready to be used
	begun       time.Duration // when the loop took up the operation
	sent        time.Duration // when its request was sent; until then, when connecting began
	firstByte   time.Duration // zero: none came
	connectTime time.Duration // time of connecting; zero: the connection was open
	received    int64         // bytes
	written     int64         // bytes, including those that the socket has not accepted yet
}

// watched is the set of events that epoll reports of a connection. They are edge-triggered: a read that
// did not fill the buffer has emptied the socket, and later data is a new edge.
const watched = unix.EPOLLIN | unix.EPOLLRDHUP

// connect begins to connect. The connection may be open at once.
func (l *loop) connect(c *conn) error {
	domain, address := l.config.Target.sockaddr(l.report.Connects)
	l.report.Connects++ // also if it fails at once: the next attempt goes to the next replica
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if domain != unix.AF_UNIX {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil && l.stamped {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}
	if err == nil {
		err = unix.Connect(fd, address)
	}
	pending := errors.Is(err, unix.EINPROGRESS)
	if err != nil && !pending {
		return errors.Join(err, unix.Close(fd))
	}
	c.fd = fd
	c.state = connecting
	c.generation++
	if pending {
		return l.poller.watch(unix.EPOLL_CTL_ADD, c, watched|unix.EPOLLOUT)
	}
	if err := l.poller.watch(unix.EPOLL_CTL_ADD, c, watched); err != nil {
		return err
	}
	l.connected(c)
	return nil
}

// connected begins to use a new connection.
func (l *loop) connected(c *conn) {
	l.now = l.clock() // connecting has taken time
	c.free = l.now
	if !c.assigned {
		c.state = idle
		l.idle = append(l.idle, c)
		return
	}
	c.connectTime = l.now - c.sent
	l.delist(c) // the time limit starts again with the actual send
	l.enlist(c)
	l.request(c)
}

// finishConnecting handles the end of an attempt to connect.
func (l *loop) finishConnecting(c *conn) {
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = l.poller.watch(unix.EPOLL_CTL_MOD, c, watched)
	}
	if err != nil {
		l.unreached(c, err)
		return
	}
	l.connected(c)
}

// unreached ends a failed attempt to connect.
func (l *loop) unreached(c *conn, err error) {
	if l.connectError == nil {
		l.connectError = err
	}
	c.hangUp()
	if c.assigned {
		l.finish(c, connectOutcome(err), l.now)
		return
	}
	l.vacate(c)
}

// enlist appends the operation of a connection to the list in the order of sending.
func (l *loop) enlist(c *conn) {
	c.older = l.newest
	c.newer = nil
	if l.newest != nil {
		l.newest.newer = c
	} else {
		l.oldest = c
	}
	l.newest = c
}

// delist removes the operation of a connection from the list in the order of sending.
func (l *loop) delist(c *conn) {
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		l.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		l.newest = c.older
	}
}

// hangUp closes a connection on this side, if it is open.
func (c *conn) hangUp() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd) // this also ends the watch; a failure would be about data that nobody needs
		c.fd = -1
	}
	c.written -= int64(len(c.unsent)) // the rest will not be sent
	c.state = vacant
	c.unsent = nil
	c.pushes = false
}

// vacate makes the slot of a closed connection available.
func (l *loop) vacate(c *conn) { l.vacant = append(l.vacant, c) }

// request sends the request of the connection's step.
func (l *loop) request(c *conn) {
	c.state = busy
	header, body := c.session.Needs()
	c.reads = header || body > 0
	c.answer.Begin(c.session.Bodiless(), header, body)
	c.sent = l.now
	c.unsent = c.session.HTTP1()
	c.written = int64(len(c.unsent))
	l.flush(c)
}

// flush sends as much as the socket accepts.
func (l *loop) flush(c *conn) {
	n, errno := write(c.fd, c.unsent)
	if errno == unix.EAGAIN {
		n, errno = 0, 0
	}
	if errno != 0 {
		l.lose(c, OutcomeOf(errno))
		return
	}
	c.unsent = c.unsent[n:]
	if pushes := len(c.unsent) > 0; pushes != c.pushes { // rare
		c.pushes = pushes
		l.rewatch(c)
	}
}

// rewatch sets the events to report again. Those that are present already are reported at once.
func (l *loop) rewatch(c *conn) {
	events := uint32(watched)
	if c.pushes {
		events |= unix.EPOLLOUT
	}
	if err := l.poller.watch(unix.EPOLL_CTL_MOD, c, events); err != nil {
		l.lose(c, record.OtherError)
	}
}

// lose ends the connection, and its operation if there is one. A flow that thinks, and a user, continue
// with another connection.
func (l *loop) lose(c *conn, outcome record.Outcome) {
	c.hangUp()
	switch {
	case c.assigned && l.repeats(c, outcome):
		c.resent = true
		c.sent = l.now // the time of connecting and the time limit begin anew
		l.delist(c)
		l.enlist(c)
		l.limit.Take(l.now)
		if err := l.connect(c); err != nil {
			l.unreached(c, err)
		}
	case c.assigned:
		l.finish(c, outcome, l.now)
	case !c.thinking && !l.owned():
		l.forgetIdle(c)
		l.vacate(c)
	}
}

// repeats reports whether the operation is sent again: once, if its connection was open before and ends
// without a byte of the answer. The server may have closed it before the request came. It may also have
// seen the request, so the method must be idempotent (RFC 9110 section 9.2.2).
func (l *loop) repeats(c *conn, outcome record.Outcome) bool {
	isUnanswered := Disconnected(outcome) && c.firstByte == 0
	wasOpen := c.connectTime == 0 && !c.resent
	isPermitted := l.now < l.until && l.limit.From() <= l.now
	return isUnanswered && wasOpen && isPermitted && c.session.Repeatable()
}

// forgetIdle removes a connection that ended between operations from the pool.
func (l *loop) forgetIdle(c *conn) {
	if i := slices.Index(l.idle, c); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
	}
}

// connectOutcome returns the outcome of a failed attempt to connect.
func connectOutcome(err error) record.Outcome {
	outcome, _ := OutcomeOfConnect(err)
	return outcome
}

// UnreachableError is the error of a load that could not make any connection to its target.
type UnreachableError struct {
	Target string
	Cause  error
}

// Own reports whether this process lacked files, ports or memory. Then nothing is known about the target.
func (u *UnreachableError) Own() bool { return connectOutcome(u.Cause) == record.Exhausted }

// Error names the target and says what to check.
func (u *UnreachableError) Error() string {
	if u.Own() {
		return fmt.Sprintf("the generator cannot open its connections to %s: %v: that is a limit of this process "+
			"or host, not of the target: "+
			"use fewer connections, or raise the limit (files: ulimit -n; ports: sysctl net.ipv4.ip_local_port_range)",
			u.Target, u.Cause)
	}
	return fmt.Sprintf("no connection to %s: %v: is the server running, and is the address right?", u.Target,
		u.Cause)
}

// Unwrap returns the error of the first attempt.
func (u *UnreachableError) Unwrap() error { return u.Cause }
