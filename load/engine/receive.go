//go:build linux

package engine

import (
	"cmp"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/http1"
	"github.com/cleave-lab/cleave/load/record"
)

// ending is the set of events of a connection that is broken or that the peer has closed.
const ending = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// handle handles the events of the poller. Those of idle connections that have ended come
// first, since handling the others may use these connections.
func (l *loop) handle(events []unix.EpollEvent) {
	l.now = l.clock()
	for i := range events {
		if events[i].Events&ending == 0 {
			continue
		}
		if c := l.reported(&events[i]); c != nil && c.state == idle {
			l.readable(c, true)
		}
	}
	for i := range events {
		event := &events[i]
		if event.Fd == timerSlot {
			l.poller.armed = 0 // the timer must be set again, even to the same time
			continue
		}
		c := l.reported(event)
		if c == nil {
			continue
		}
		if c.state == connecting {
			l.finishConnecting(c)
			continue
		}
		if event.Events&unix.EPOLLOUT != 0 && len(c.unsent) > 0 {
			l.flush(c)
		}
		if event.Events&^unix.EPOLLOUT != 0 && l.reported(event) != nil { // it is still open
			l.readable(c, event.Events&ending != 0)
		}
		if l.sending {
			l.dispatch()
		}
	}
}

// reported returns the connection of an event, or nil if it has none or the connection was
// closed while the event waited.
func (l *loop) reported(event *unix.EpollEvent) *conn {
	if event.Fd == timerSlot {
		return nil
	}
	c := &l.conns[event.Fd]
	if c.generation != event.Pad || c.state == vacant {
		return nil
	}
	return c
}

// readable reads what has come. ends is set if the connection is broken or the peer has closed it: then
// it reads up to the end.
func (l *loop) readable(c *conn, ends bool) {
	for range readsPerTurn {
		n, errno := l.read(c)
		switch {
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			l.lose(c, OutcomeOf(errno))
			return
		case n == 0:
			l.ended(c)
			return
		}
		isDrained := n < len(l.input) && !ends
		if l.receive(c, l.input[:n], ends) || isDrained {
			return
		}
	}
	l.rewatch(c) // epoll then reports the rest after the events of others
}

// read reads once and notes the time at which the data came: now, or by the kernel's time stamp.
func (l *loop) read(c *conn) (int, unix.Errno) {
	if !l.stamped {
		n, errno := read(c.fd, l.input)
		l.now = l.clock()
		l.arrived = l.now
		return n, errno
	}
	n, stamp, errno := readStamped(c.fd, l.input, &l.message)
	// The wall clock may be adjusted, so its offset is determined each time.
	now := time.Now()
	l.now = now.Sub(l.start)
	l.arrived = l.now
	if stamp > 0 {
		age := time.Duration(now.UnixNano() - stamp)
		l.arrived = min(max(l.now-age, c.sent), l.now)
	}
	return n, errno
}

// receive passes bytes to the parser and reports whether the connection needs no more reading now.
func (l *loop) receive(c *conn, data []byte, ends bool) bool {
	l.report.Received += int64(len(data))
	if c.state != busy {
		l.report.Unsolicited++
		l.lose(c, record.OtherError)
		return true
	}
	if c.firstByte == 0 {
		c.firstByte = l.arrived
	}
	c.received += int64(len(data))
	n, err := c.answer.Feed(data)
	if err != nil {
		outcome := record.Malformed
		if errors.Is(err, http1.ErrTooLarge) {
			outcome = record.TooLarge
		}
		l.explain(err.Error())
		l.lose(c, outcome)
		return true
	}
	if !c.answer.Complete() {
		return false
	}
	// Bytes after the answer belong to no request. If the answer comes before the whole request was sent,
	// the state of the connection is unknown. Neither connection is used again.
	isClean := n == len(data) && len(c.unsent) == 0
	l.answered(c, isClean && !ends && !c.answer.Last)
	return true
}

// answered judges a complete answer.
func (l *loop) answered(c *conn, reuse bool) {
	a := &c.answer
	outcome, complaint := c.session.Judge(&a.Answer, l.report.Example == "")
	l.explain(complaint)
	l.statuses[a.Status]++
	if outcome == record.BadStatus || outcome == record.Rejected {
		l.report.ErrorSamples.Add(a.Status, a.Text())
	}
	if c.reads {
		l.now = l.clock() // reading has taken time
	}
	if !reuse {
		c.hangUp()
	}
	l.finish(c, outcome, l.arrived)
}

// explain keeps the first complaint as an example.
func (l *loop) explain(complaint string) {
	l.report.Example = cmp.Or(l.report.Example, complaint)
}

// ended handles the peer's orderly end of the connection.
func (l *loop) ended(c *conn) {
	if c.state == busy && c.answer.End() {
		l.answered(c, false)
		return
	}
	l.lose(c, record.Closed)
}
