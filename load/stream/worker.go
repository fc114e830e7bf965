package stream

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// worker is a goroutine that plays one flow at a time, on its share of a connection. In a closed loop it is
// a user.
type worker struct {
	loop    *loop
	link    link
	number  int32 // of the connection
	session scenario.Session
	wake    chan bool // true: there is something to do; false: the load has ended
	x       exchange

	due     time.Duration // of the next step
	flowDue time.Duration // of the first step of the flow
	free    time.Duration // when the worker was last ready to send
	tally
}

// tally holds a worker's sums for the report; see engine.Report for the times.
type tally struct {
	statuses            map[int]int64
	busy, pause, active time.Duration
}

// newWorker returns a worker that uses a link, which has the number of its connection.
func newWorker(l *loop, link link, number int) *worker {
	w := &worker{loop: l, link: link, number: int32(number), wake: make(chan bool, 1)}
	w.x.session = &w.session
	w.x.clock = l.clock
	w.x.h2 = &http2.Exchange{Clock: l.clock}
	w.x.limit = l.config.Timeout
	w.x.permits = l.permits
	w.statuses = make(map[int]int64)
	return w
}

// serve plays the flows of an open loop.
func (w *worker) serve() {
	for w.loop.await(w) {
		w.flow()
	}
}

// playUser plays the flows of a user of a closed loop, who begins at a time and thinks between flows. The
// sums for Little's law cover the time from the first operation to the end of the last.
func (w *worker) playUser(begin, think time.Duration) {
	w.due = begin
	last, began := begin, false
	for w.loop.sleep(w, w.due) {
		from, ok := w.loop.admit(w)
		if !ok {
			break
		}
		if began {
			w.pause += from - last
		}
		outcome, thought := w.flow()
		began, last = true, w.free
		pause := think + thought
		if engine.Unreached(outcome) {
			pause = max(pause, engine.Backoff)
		}
		w.due = last + pause
	}
	if began {
		w.active = last - begin
	}
}

// flow plays a flow from its first step, which is due at w.due. It returns the outcome of the last step
// and the user's think time after it.
func (w *worker) flow() (record.Outcome, time.Duration) {
	defer w.endFlow()
	w.flowDue = w.due
	for {
		outcome := w.step()
		think, more := w.session.Next(outcome)
		if !more {
			return outcome, think
		}
		w.due = w.free + think
		w.loop.ended.Add(1) // a flow that thinks waits for nothing
		if !w.loop.sleep(w, w.due) {
			w.loop.mu.Lock()
			w.loop.cut++ // the flow is unfinished
			w.loop.mu.Unlock()
			w.loop.ended.Add(-1)
			return outcome, think
		}
		w.loop.ended.Add(-1)
		w.pause += think
	}
}

// endFlow closes the connection after a flow if it is not kept alive, and counts the flow.
func (w *worker) endFlow() {
	if !w.loop.config.KeepAlive {
		w.link.hangUp()
	}
	w.loop.ended.Add(1)
}

// step makes and records one operation.
func (w *worker) step() record.Outcome {
	l := w.loop
	begun := l.clock()
	connected := w.send()
	finished := l.clock()
	outcome := w.x.outcome
	switch {
	case outcome == record.OK:
		w.statuses[w.x.answer.Status]++
		outcome, w.x.why = w.session.Judge(&w.x.answer, !l.explained.Load())
		if outcome == record.BadStatus || outcome == record.Rejected {
			l.mu.Lock()
			l.errorSamples.Add(w.x.answer.Status, w.x.answer.Text())
			l.mu.Unlock()
		}
	case l.abandoned.Load():
		outcome = record.Unfinished
		w.x.why = ""
	}
	l.explain(w.x.why)
	free := w.free
	if w.x.waited {
		free = max(free, w.x.sent)
	}
	sample := record.Sample{
		Operation: w.session.Operation(), Outcome: outcome, Follows: !w.session.First(),
		Intended: w.due, Lag: w.due - w.flowDue, Free: free, Sent: w.x.sent, Finished: finished,
		Status: int32(w.x.answer.Status), Connection: w.number, FirstByte: w.x.first, Connected: connected,
		Received: w.x.received, Written: w.x.written, Resent: w.x.resent,
	}
	if l.config.Recorder.Tapped() {
		sample.Noted = w.session.Notes()
	}
	l.record(sample)
	w.busy += finished - begun
	w.free = finished
	return outcome
}

// send sends the step and receives its answer. It connects first if needed, and returns the time that
// this took; the time limit starts again with the open connection. If the server may have closed the
// connection before the request came, send repeats a safe request on a new one (RFC 9110 section 9.2.2).
func (w *worker) send() (connected time.Duration) {
	x := &w.x
	for again := false; ; again = true {
		x.begin()
		x.resent = again
		usable := w.link.isUsable()
		if !usable {
			if err := w.connect(); err != nil {
				x.fail(outcomeOfConnect(err), err.Error())
				return connected
			}
			w.free = w.loop.clock()
			connected = w.free - x.sent
		}
		w.link.exchange(x)
		// The second attempt has to connect: usable is false then, so there is no third.
		mayHaveMissed := usable && x.unanswered
		if mayHaveMissed && w.session.Repeatable() && x.permits() {
			continue
		}
		return connected
	}
}

// connect makes the connection within the time limit.
func (w *worker) connect() error {
	ctx, cancel := context.WithTimeout(w.loop.ctx, w.loop.config.Timeout)
	defer cancel()
	return w.link.connect(ctx)
}
