//go:build linux

package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
)

const (
	// readSize is the size of the one read buffer, in bytes.
	readSize = 64 << 10
	// readsPerTurn bounds what one connection with an endless body may take
	// before the others have their turn.
	readsPerTurn = 16
	// lastOrders is how long an open loop may go on, after its end, to send what
	// was due before it and finds a free connection.
	lastOrders = 100 * time.Millisecond
	// maxWait bounds a wait in milliseconds, so that an interruption is seen.
	maxWait = 100
	// briefWait is up to which time until the next event is known the scheduler is
	// kept out; a garbage collection can have to wait so long.
	briefWait = 2 * time.Millisecond
)

// loop is one thread with its connections.
type loop struct {
	config  Config
	poller  *poller
	source  source
	start   time.Time
	now     time.Duration // since start
	input   []byte
	message message // for stamped reads
	conns   []conn
	idle    []*conn // the last one used is the next one used
	vacant  []*conn
	oldest  *conn // of those with an operation
	newest  *conn

	stamped      bool          // the kernel notes when answers come, so nobody need wake for them
	arrived      time.Duration // when the answer at hand came
	sending      bool          // operations are still begun
	quiet        bool          // the last wait brought nothing
	inFlight     int
	ends         int64 // of operations
	interrupted  atomic.Bool
	connectError error // the first
	statuses     [600]int64
	report       Report
}

// newLoop makes a loop whose connections do not stand yet.
func newLoop(config Config) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	l := &loop{config: config, poller: p, input: make([]byte, readSize), conns: make([]conn, config.Connections)}
	l.stamped = config.Pacing.grid > 0 && config.Target.path == ""
	l.idle = make([]*conn, 0, config.Connections)
	l.vacant = make([]*conn, 0, config.Connections)
	for i := range l.conns {
		l.conns[i].fd, l.conns[i].slot = -1, int32(i)
	}
	if config.Users != nil {
		l.source = newUsers(*config.Users, config.Duration)
	} else {
		l.source = newOpen(config.Open)
	}
	return l, l.reset()
}

// reset begins a new time zero.
func (l *loop) reset() error {
	before, err := monotonic()
	if err != nil {
		return err
	}
	l.start = time.Now()
	after, err := monotonic()
	l.poller.origin, l.poller.armed = before+(after-before)/2, 0
	l.now = 0
	return err
}

// close closes all connections.
func (l *loop) close() error {
	for i := range l.conns {
		l.hangUp(&l.conns[i])
	}
	return l.poller.close()
}

// clock is the time since the beginning of the load.
func (l *loop) clock() time.Duration { return time.Since(l.start) }

// open connects the whole pool before the load begins. Some connections may
// fail, they are tried again when needed; if all do, there is no target.
func (l *loop) open(ctx context.Context) error {
	limit := min(l.config.Timeout, 5*time.Second)
	for i := range l.conns {
		if ctx.Err() != nil {
			break
		}
		if err := l.openOne(&l.conns[i], limit); err != nil {
			l.unreached(&l.conns[i], err)
		}
		if len(l.idle) == 0 && l.connectError != nil {
			break // the first says enough
		}
	}
	for len(l.idle)+len(l.vacant) < len(l.conns) && l.clock() < limit && ctx.Err() == nil && !(len(l.idle) == 0 && l.connectError != nil) {
		events, err := l.poller.wait(maxWait, false)
		if err != nil {
			return err
		}
		l.handle(events)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.opened()
}

// openOne begins a connection. A full queue at a Unix socket is waited for, as
// the kernel does at TCP.
func (l *loop) openOne(c *conn, limit time.Duration) error {
	for {
		err := l.connect(c)
		if !errors.Is(err, unix.EAGAIN) || l.clock() > limit {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// opened gives up attempts that hang and judges the pool.
func (l *loop) opened() error {
	for i := range l.conns {
		if c := &l.conns[i]; c.state == connecting {
			l.unreached(c, unix.ETIMEDOUT)
		}
	}
	if len(l.idle) == 0 {
		return &UnreachableError{Target: l.config.Target.String(), Cause: l.connectError}
	}
	l.vacant = l.vacant[:0]
	for i := range l.conns {
		if l.conns[i].state == vacant {
			l.vacate(&l.conns[i])
		}
	}
	return nil
}

// play sends the load and waits for what is in flight.
func (l *loop) play() error {
	end := l.config.Pacing.slot(l.config.Duration)
	l.sending = true
	for {
		if l.sending {
			l.dispatch(end)
		}
		if l.sending && (l.now >= end || l.done() || l.interrupted.Load()) {
			l.endSending()
			end = l.now + l.config.Grace
		}
		if !l.sending && (l.inFlight == 0 || l.now >= end || l.interrupted.Load()) {
			return nil
		}
		events, err := l.wait(end)
		if err != nil {
			return err
		}
		l.handle(events)
		l.expire()
		l.config.Recorder.Tick(l.now)
		l.sample()
	}
}

// done reports whether an open loop has begun all that its schedule holds.
func (l *loop) done() bool {
	_, more := l.source.peek()
	return !more && l.config.Open != nil
}

// endSending notes how long operations were begun: a schedule that is done has
// had its whole duration, also when nothing was due at the end of it.
func (l *loop) endSending() {
	l.sending = false
	l.report.Window = min(l.now, l.config.Duration)
	if l.done() {
		l.report.Window = l.config.Duration
	}
	if u, closed := l.source.(*users); closed {
		u.stop(l.now)
	}
}

// dispatch begins the operations that are due, as far as there are connections.
func (l *loop) dispatch(end time.Duration) {
	entered := l.now
	for fresh := false; ; fresh = true {
		due, ok := l.source.peek()
		if !ok || due >= l.config.Duration || l.config.Pacing.slot(due) > l.now {
			return
		}
		if fresh {
			l.now = l.clock() // sending took time
		}
		if l.now >= end && (l.config.Open == nil || l.now >= entered+lastOrders) {
			return
		}
		c := l.free()
		if c == nil {
			return
		}
		l.source.take()
		l.begin(c, due)
	}
}

// free takes a connection from the pool: the one used last, whose memory is
// still in the cache, or else a place for a new one.
func (l *loop) free() *conn {
	if n := len(l.idle); n > 0 {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return c
	}
	if n := len(l.vacant); n > 0 {
		c := l.vacant[n-1]
		l.vacant = l.vacant[:n-1]
		return c
	}
	return nil
}

// begin starts an operation on a connection, or on one that it makes first.
func (l *loop) begin(c *conn, due time.Duration) {
	c.assigned, c.due, c.sent = true, due, l.now
	l.enlist(c)
	l.inFlight++
	if c.state == idle {
		l.request(c)
		return
	}
	if err := l.connect(c); err != nil {
		l.unreached(c, err)
	}
}

// finish records the operation of a connection, which ended at a time that may
// be a little ago, and lets the source go on.
func (l *loop) finish(c *conn, outcome record.Outcome, at time.Duration) {
	l.delist(c)
	c.assigned = false
	l.inFlight--
	l.config.Recorder.Record(record.Sample{
		Operation: l.config.Operation, Outcome: outcome,
		Intended: c.due, Free: c.free, Sent: c.sent, Finished: at,
	})
	l.report.ServiceTime += at - c.sent
	l.ends++
	unreached := outcome == record.Refused || outcome == record.Unreachable || outcome == record.Exhausted
	l.source.finished(l.now, unreached)
	c.free = l.now
}
