package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
)

// loop holds the state that the workers share: schedule, clock, recorder and the end. Every worker is busy
// with a step, idle (without a flow), or asleep until its next step is due.
type loop struct {
	config *Config
	ctx    context.Context // ends when operations in flight are aborted
	start  time.Time
	end    time.Duration // no step begins from then on
	until  time.Duration // the permission ends: no flow begins from then on, even if it is due
	waiter *waiter

	abandoned   atomic.Bool  // operations in flight are aborted
	interrupted atomic.Bool  // the caller's context ended
	ended       atomic.Int64 // flows that have ended or think
	explained   atomic.Bool  // there is an example: the worker that sets this sets example, too
	example     string       // the first complaint about an answer; read after all workers have ended

	mu           sync.Mutex    // guards the fields below
	next         time.Duration // when the next flow of an open loop is due
	hasNext      bool          // false: no flow is left, or the loop is closed
	limit        engine.Limit
	idle         []*worker // the last one used is used next
	asleep       engine.Agenda[*worker]
	nextTurn     time.Duration // when the pacer calls turn again without a nudge
	stopped      bool          // no step begins any more
	held         int64         // flows that began later than they were due, because of the highest rate
	cut          int64         // flows that were unfinished at the end
	endedAt      []int64       // values of ended at multiples of engine.EndedEvery
	errorSamples record.ErrorSamples

	recording sync.Mutex // guards the recorder
}

// clock returns the time since the beginning of the load.
func (l *loop) clock() time.Duration { return time.Since(l.start) }

// advance reads the next due time of an open loop.
func (l *loop) advance() {
	if l.config.Open != nil {
		l.next, l.hasNext = l.config.Open.Next()
	}
}

// from returns the time at which the next flow may begin; ok is false if there is none. The caller holds
// mu.
func (l *loop) from() (at time.Duration, ok bool) {
	if !l.hasNext || l.next >= l.config.Duration {
		return 0, false
	}
	return max(l.config.Pacing.Slot(l.next), l.limit.From()), true
}

// assign gives a worker the next flow. The caller holds mu.
func (l *loop) assign(w *worker, now time.Duration) {
	w.due = l.next
	if l.limit.From() > l.config.Pacing.Slot(l.next) {
		l.held++
	}
	l.limit.Take(now)
	l.config.Player.Begin(&w.session)
	l.advance()
}

// await waits until a worker has a flow of an open loop, and returns false if the load has ended. A worker
// that becomes free when a flow is due takes that flow without the pacer.
func (l *loop) await(w *worker) bool {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return false
	}
	at, ok := l.from()
	now := l.clock()
	isDue := ok && at <= now
	if isDue && now < l.end {
		l.assign(w, now)
		l.mu.Unlock()
		return true
	}
	l.idle = append(l.idle, w)
	isSooner := ok && at < l.nextTurn
	if isSooner || l.isDone(ok) { // the next turn then ends the load
		l.waiter.nudge()
	}
	l.mu.Unlock()
	return <-w.wake
}

// isDone reports whether no flow of an open loop is in progress, and none begins: ok is that of from. The
// caller holds mu.
func (l *loop) isDone(ok bool) bool { return !ok && len(l.idle) == l.config.workers() }

// sleep waits until a time, and returns false if the load has ended or will have ended by then.
func (l *loop) sleep(w *worker, until time.Duration) bool {
	until = l.config.Pacing.Slot(until)
	l.mu.Lock()
	now := l.clock()
	if l.stopped || max(until, now) >= l.end {
		l.mu.Unlock()
		return false
	}
	if until <= now {
		l.mu.Unlock()
		return true
	}
	l.asleep.Push(engine.Entry[*worker]{Due: until, Who: w})
	if until < l.nextTurn {
		l.waiter.nudge()
	}
	l.mu.Unlock()
	return <-w.wake
}

// admit begins a flow of a user as soon as the limit permits it, and returns the time of that. ok is false if
// the load has ended.
func (l *loop) admit(w *worker) (at time.Duration, ok bool) {
	for held := false; ; held = true {
		l.mu.Lock()
		from := max(l.limit.From(), w.due)
		if now := l.clock(); !l.stopped && now < l.end && from <= now {
			l.limit.Take(now)
			if held {
				l.held++
			}
			l.config.Player.Begin(&w.session)
			l.mu.Unlock()
			return from, true
		}
		l.mu.Unlock()
		if !l.sleep(w, from) {
			return 0, false
		}
	}
}

// permits reports whether a step may be sent a second time, which counts for the limit.
func (l *loop) permits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	if l.limit.From() > now || now >= l.until {
		return false
	}
	l.limit.Take(now)
	return true
}

// turn wakes the workers that have something to do, and returns the time of the next turn. If over is true,
// there is none, and no step begins any more from that time on.
func (l *loop) turn() (again time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	l.sample(now)
	if enough := l.config.Enough; enough != nil && enough.Load() {
		l.end = min(l.end, now)
		l.config.Duration = min(l.config.Duration, l.end)
	}
	for len(l.asleep) > 0 && l.asleep[0].Due <= now && now < l.until {
		l.asleep.Pop().Who.wake <- true // never blocks: the channel of a sleeping worker is empty
	}
	at, ok := l.from()
	for ; ok && at <= now && len(l.idle) > 0 && now < l.until; at, ok = l.from() {
		last := len(l.idle) - 1
		w := l.idle[last]
		l.idle = l.idle[:last]
		l.assign(w, now)
		w.wake <- true // never blocks, as above
		now = l.clock()
	}
	if now >= l.end || l.isDone(ok) || l.interrupted.Load() {
		l.stop()
		return now, true
	}
	l.nextTurn = min(l.end, now.Truncate(engine.EndedEvery)+engine.EndedEvery)
	if len(l.asleep) > 0 {
		l.nextTurn = min(l.nextTurn, l.asleep[0].Due)
	}
	if ok && len(l.idle) > 0 {
		l.nextTurn = min(l.nextTurn, at)
	}
	return l.nextTurn, false
}

// stop wakes all waiting workers. The caller holds mu.
func (l *loop) stop() {
	l.stopped = true
	for _, w := range l.idle {
		w.wake <- false
	}
	for _, n := range l.asleep {
		n.Who.wake <- false
	}
	l.idle = nil
	l.asleep = nil
}

// sample appends the number of flows that have ended or think to endedAt, once for each interval that has
// passed, and lets the recorder pass on its results when they are due. The caller holds mu.
func (l *loop) sample(now time.Duration) {
	for now >= time.Duration(len(l.endedAt)+1)*engine.EndedEvery && now < l.end+engine.EndedEvery {
		l.endedAt = append(l.endedAt, l.ended.Load())
	}
	l.recording.Lock()
	l.config.Recorder.Tick(now)
	l.recording.Unlock()
}

// record counts an operation. The recorder may be used by one goroutine at a time.
func (l *loop) record(s record.Sample) {
	l.recording.Lock()
	l.config.Recorder.Record(s)
	l.recording.Unlock()
}

// explain keeps the first complaint as the example.
func (l *loop) explain(complaint string) {
	if complaint != "" && l.explained.CompareAndSwap(false, true) {
		l.example = complaint
	}
}
