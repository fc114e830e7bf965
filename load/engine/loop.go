//go:build linux

package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is the size of the one read buffer, in bytes.
	readSize = 64 << 10
	// readsPerTurn bounds the reads from one connection with an endless body before other connections get
	// their turn.
	readsPerTurn = 16
	// overtime is the time, from its call on, for which dispatch may continue beyond the end of an open loop.
	// It sends operations that were due before the end, if they find a free connection.
	overtime = 100 * time.Millisecond
	// maxWait is the longest wait in milliseconds, so that the loop notices a cancelled context.
	maxWait = 100
	// briefWait is the longest wait that the Go scheduler does not know of. A garbage collection may have to
	// wait for its end.
	briefWait = 2 * time.Millisecond
)

// loop is one thread with its connections.
type loop struct {
	config   Config
	poller   *poller
	source   source
	limit    Limit
	start    time.Time
	now      time.Duration // since start
	end      time.Duration // no flow begins from then on
	until    time.Duration // the permission ends: no operation begins from then on, even if it is due
	input    []byte        // memory for reads
	message  message       // memory for stamped reads
	conns    []conn
	idle     []*conn // the last one used is used next
	vacant   []*conn
	oldest   *conn // the oldest and the latest operation in flight
	newest   *conn
	thinking Agenda[*conn] // flows between two steps

	tapped       bool          // the recorder passes every operation on
	stamped      bool          // the kernel notes when answers come, so the loop need not wake for them
	arrived      time.Duration // when the current answer came
	sending      bool          // operations are still begun
	quiet        bool          // the last wait brought nothing
	inFlight     int
	flowsEnded   int64
	interrupted  atomic.Bool
	connectError error // the first error
	statuses     [600]int64
	report       Report
}

// newLoop returns a loop whose connections are not open yet.
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
		l.conns[i].fd = -1
		l.conns[i].slot = int32(i)
	}
	l.limit = NewLimit(config.MaxRate)
	l.tapped = config.Recorder.Tapped()
	l.until = math.MaxInt64
	return l, l.reset(time.Now())
}

// reset sets time zero of the loop, and of its timer, which counts by the monotonic clock of the kernel. It
// reads that clock between two readings of the Go clock, and takes their middle as the time of that reading.
func (l *loop) reset(start time.Time) error {
	before := time.Since(start)
	at, err := monotonic()
	after := time.Since(start)
	l.start = start
	l.poller.origin = at - int64(before+after)/2
	l.poller.armed = 0
	l.now = 0
	return err
}

// close closes all connections and the poller.
func (l *loop) close() error {
	for i := range l.conns {
		l.conns[i].hangUp()
	}
	return l.poller.close()
}

// clock returns the time since the beginning of the load.
func (l *loop) clock() time.Duration { return time.Since(l.start) }

// open connects the pool before the load begins. Connections that fail are tried again
// when they are needed. It returns an error if all fail.
func (l *loop) open(ctx context.Context) error {
	// No more than the timeout: an operation that has to connect gets no more either.
	limit := min(l.config.Timeout, 5*time.Second)
	first := len(l.conns)
	if !l.config.KeepAlive {
		first = 1 // one connection shows that the target listens
	}
	for i := range l.conns[:first] {
		if ctx.Err() != nil {
			break
		}
		if err := l.openOne(&l.conns[i], limit); err != nil {
			l.unreached(&l.conns[i], err)
		}
		if l.hasFailed() {
			break
		}
	}
	for len(l.idle)+len(l.vacant) < first && !l.hasFailed() {
		if l.clock() >= limit || ctx.Err() != nil {
			break
		}
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

// hasFailed reports whether the first connection has failed before the load: one error says enough.
func (l *loop) hasFailed() bool { return len(l.idle) == 0 && l.connectError != nil }

// openOne begins a connection. It waits while the queue of a Unix socket is full; for TCP the kernel does
// so itself.
func (l *loop) openOne(c *conn, limit time.Duration) error {
	for {
		err := l.connect(c)
		if !errors.Is(err, unix.EAGAIN) || l.clock() > limit {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// errClosedAtOnce is the error of a target that has closed every connection before the load.
var errClosedAtOnce = errors.New("it accepts connections and closes them at once")

// opened gives up attempts that are not done, and returns an error if no connection is open.
func (l *loop) opened() error {
	for i := range l.conns {
		if c := &l.conns[i]; c.state == connecting {
			l.unreached(c, unix.ETIMEDOUT)
		}
	}
	if len(l.idle) == 0 {
		return &UnreachableError{Target: l.config.Target.String(), Cause: cmp.Or(l.connectError, errClosedAtOnce)}
	}
	l.vacant = l.vacant[:0]
	for i := range l.conns {
		if l.conns[i].state == vacant {
			l.vacate(&l.conns[i])
		}
	}
	return nil
}
