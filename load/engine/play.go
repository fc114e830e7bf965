//go:build linux

package engine

import (
	"cmp"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// play sends the load and waits for operations in flight.
func (l *loop) play() error {
	l.end = min(l.config.Pacing.Slot(l.config.Duration), l.until)
	l.sending = true
	for phaseEnd := l.end; ; { // of sending, then of the wait for operations in flight
		if l.sending {
			if enough := l.config.Enough; enough != nil && enough.Load() {
				phaseEnd = min(phaseEnd, l.now)
				l.config.Duration = min(l.config.Duration, phaseEnd)
			}
			l.dispatch()
		}
		if l.sending && (l.now >= phaseEnd || l.done() || l.interrupted.Load()) {
			l.endSending()
			phaseEnd = l.now + cmp.Or(l.config.Grace, l.config.Timeout)
		}
		if !l.sending && (l.inFlight == 0 || l.now >= phaseEnd || l.interrupted.Load()) {
			return nil
		}
		events, err := l.wait(phaseEnd)
		if err != nil {
			return err
		}
		l.handle(events)
		for l.oldest != nil && l.now-l.oldest.sent >= l.config.Timeout {
			l.lose(l.oldest, record.Timeout)
		}
		l.config.Recorder.Tick(l.now)
		l.sample()
	}
}

// done reports whether an open loop has nothing left to begin: its schedule and all flows have ended.
func (l *loop) done() bool {
	if l.config.Open == nil || l.inFlight > 0 || len(l.thinking) > 0 {
		return false
	}
	_, more := l.source.peek()
	return !more
}

// endSending notes the length of the time in which operations were begun, and cuts the flows that think.
// An open loop that was not ended early has had its whole duration, even if its schedule was empty at the
// end.
func (l *loop) endSending() {
	l.sending = false
	l.report.Window = min(l.now, l.config.Duration)
	if l.now >= l.until && l.until < l.config.Duration {
		l.report.Stopped = l.config.PermissionEnded()
	}
	if l.config.Open != nil && !l.interrupted.Load() {
		l.report.Window = l.config.Duration
	}
	l.report.Cut += int64(len(l.thinking))
	if u, closed := l.source.(*users); closed {
		u.stop(l.now, l.thinking)
	}
	l.thinking = nil
}

// dispatch begins the operations that are due. New flows also need a free connection and the permission
// of the limit.
func (l *loop) dispatch() {
	entered := l.now
	for fresh := false; ; fresh = true {
		at, continues, ok := l.upcoming()
		if !ok || at > l.now {
			return
		}
		if fresh {
			l.now = l.clock() // sending has taken time
		}
		if l.now >= l.end {
			// For a while, an open loop still begins what was due before its end.
			isOvertime := l.config.Open != nil && l.now < min(entered+overtime, l.until)
			if !isOvertime {
				return
			}
		}
		if continues {
			next := l.thinking.Pop()
			next.Who.thinking = false
			l.begin(next.Who, next.Due)
			continue
		}
		l.beginFlow()
	}
}

// upcoming returns the time at which the next operation can begin, and whether it continues a flow. ok is
// false if that depends on an answer and not on the clock.
func (l *loop) upcoming() (at time.Duration, continues, ok bool) {
	if len(l.thinking) > 0 {
		at = l.config.Pacing.Slot(l.thinking[0].Due)
		continues = true
		ok = true
	}
	if !l.owned() && len(l.idle)+len(l.vacant) == 0 {
		return at, continues, ok
	}
	due, more := l.source.peek()
	if !more || due >= l.config.Duration {
		return at, continues, ok
	}
	if due = max(l.config.Pacing.Slot(due), l.limit.From()); !ok || due < at {
		return due, false, true
	}
	return at, continues, ok
}

// owned reports whether connections belong to users instead of a pool. Before the load begins, there is no
// source and all are in the pool.
func (l *loop) owned() bool { return l.config.Users != nil && l.source != nil }

// beginFlow begins the next flow, on the connection of its user or on one of the pool.
func (l *loop) beginFlow() {
	due, _ := l.source.peek()
	c := l.source.take()
	if c == nil {
		c = l.takeSlot()
	}
	if l.limit.From() > l.config.Pacing.Slot(due) {
		l.report.HeldBack++
		l.source.pauses(due, l.now) // neither the user nor the target is to blame for this delay
	}
	l.limit.Take(l.now)
	l.config.Player.Begin(&c.session)
	l.begin(c, due)
}

// takeSlot takes a slot from the pool: the idle connection that was used last, whose memory is still in the
// cache, or else an empty slot.
func (l *loop) takeSlot() *conn {
	from := &l.idle
	if len(*from) == 0 {
		from = &l.vacant
	}
	last := len(*from) - 1
	c := (*from)[last]
	*from = (*from)[:last]
	return c
}

// begin starts an operation on a connection, which it makes first if there is none.
func (l *loop) begin(c *conn, due time.Duration) {
	c.assigned = true
	c.resent = false
	c.due = due
	c.begun = l.now
	c.sent = l.now
	if c.session.First() {
		c.flow = due
	}
	c.connectTime = 0
	c.firstByte = 0
	c.received = 0
	c.written = 0
	l.enlist(c)
	l.inFlight++
	if c.fd >= 0 {
		l.request(c)
		return
	}
	if err := l.connect(c); err != nil {
		l.unreached(c, err)
	}
}

// finish records the operation of a connection, which ended at a time, and continues its flow.
func (l *loop) finish(c *conn, outcome record.Outcome, at time.Duration) {
	l.delist(c)
	c.assigned = false
	l.inFlight--
	sample := record.Sample{
		Operation: c.session.Operation(), Outcome: outcome, Follows: !c.session.First(),
		Intended: c.due, Lag: c.due - c.flow, Free: c.free, Sent: c.sent, Finished: at,
		Connection: c.slot, Received: c.received, Written: c.written,
		FirstByte: c.firstByte, Connected: c.connectTime, Resent: c.resent,
	}
	if c.firstByte > 0 {
		sample.Status = int32(c.answer.Status)
	}
	if l.tapped {
		sample.Noted = c.session.Notes()
	}
	l.config.Recorder.Record(sample)
	l.report.BusyTime += at - c.begun
	c.free = l.now
	think, more := c.session.Next(outcome)
	if more {
		l.continueFlow(c, at, at+think)
		return
	}
	l.flowsEnded++
	l.source.finished(c, l.now, think, Unreached(outcome))
	l.release(c)
}

// continueFlow continues a flow whose next step is due at a time: at once, later, or not at all if the load
// has ended by then.
func (l *loop) continueFlow(c *conn, at, due time.Duration) {
	l.source.pauses(at, due)
	switch {
	case !l.sending || due >= min(l.config.Duration, l.until):
		l.report.Cut++
		l.flowsEnded++
		l.release(c)
	case l.config.Pacing.Slot(due) > l.now || l.now >= l.until: // from until on, endSending cuts what thinks
		c.free = 0
		c.thinking = true
		if c.fd >= 0 {
			c.state = idle
		}
		l.thinking.Push(Entry[*conn]{due, c})
	default:
		c.free = 0 // the connection was available all the time
		l.begin(c, due)
	}
}

// release returns the connection of a flow to the pool.
func (l *loop) release(c *conn) {
	if !l.config.KeepAlive {
		c.hangUp()
	}
	if c.fd >= 0 {
		c.state = idle
	}
	switch {
	case l.owned(): // it stays with the user
	case c.fd < 0:
		l.vacate(c)
	default:
		l.idle = append(l.idle, c)
	}
}
