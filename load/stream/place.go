package stream

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// place is the place of one flow at a time: a goroutine with its part of a connection. In a closed loop
// it is a user.
type place struct {
	loop    *loop
	link    link
	number  int32 // number of the connection
	session scenario.Session
	wake    chan bool // false: the load has ended
	x       exchange

	due     time.Duration // of the next step
	flowDue time.Duration // of the first step of the flow
	free    time.Duration // from when on the place could be used
	tally
}

// tally holds a place's counts for the report.
type tally struct {
	statuses           map[int]int64
	busy, pause, spent time.Duration
}

func newPlace(l *loop, link link, number int) *place {
	p := &place{loop: l, link: link, number: int32(number), wake: make(chan bool, 1)}
	p.x.session, p.x.clock, p.x.h2 = &p.session, l.clock, &http2.Exchange{Clock: l.clock}
	p.x.limit = l.config.Timeout
	p.statuses = make(map[int]int64)
	return p
}

// serve plays the flows of an open loop.
func (p *place) serve() {
	for p.loop.await(p) {
		p.flow()
	}
}

// live plays the flows of a user of a closed loop, who begins at a time and thinks between flows. The
// sums for Little's law cover the time from the first operation to the end of the last.
func (p *place) live(begin, think time.Duration) {
	p.due = begin
	last, began := begin, false
	for p.loop.sleep(p, p.due) {
		from, ok := p.loop.admit(p)
		if !ok {
			break
		}
		if began {
			p.pause += from - last
		}
		outcome, thought := p.flow()
		began, last = true, p.free
		pause := think + thought
		if engine.Unreached(outcome) {
			pause = max(pause, engine.Backoff)
		}
		p.due = last + pause
	}
	if began {
		p.spent = last - begin
	}
}

// flow plays a flow from its first step, which is due at p.due. It returns the outcome of the last step
// and the user's think time after it.
func (p *place) flow() (record.Outcome, time.Duration) {
	defer p.leave()
	p.flowDue = p.due
	for {
		outcome := p.step()
		think, more := p.session.Next(outcome)
		if !more {
			return outcome, think
		}
		p.due = p.free + think
		p.loop.ended.Add(1) // a flow that thinks waits for nothing
		if !p.loop.sleep(p, p.due) {
			p.loop.mu.Lock()
			p.loop.cut++ // the flow is unfinished
			p.loop.mu.Unlock()
			p.loop.ended.Add(-1)
			return outcome, think
		}
		p.loop.ended.Add(-1)
		p.pause += think
	}
}

func (p *place) leave() {
	if !p.loop.config.KeepAlive {
		p.link.hangUp()
	}
	p.loop.ended.Add(1)
}

// step makes and records one operation.
func (p *place) step() record.Outcome {
	l := p.loop
	begun := l.clock()
	connected := p.send()
	finished := l.clock()
	outcome := p.x.outcome
	switch {
	case outcome == record.OK:
		p.statuses[p.x.answer.Status]++
		outcome, p.x.why = p.session.Judge(&p.x.answer, !l.explained.Load())
		if outcome == record.BadStatus || outcome == record.Rejected {
			l.mu.Lock()
			l.said.Add(p.x.answer.Status, p.x.answer.Text())
			l.mu.Unlock()
		}
	case l.abandoned.Load():
		outcome, p.x.why = record.Unfinished, ""
	}
	l.explain(p.x.why)
	free := p.free
	if p.x.waited {
		free = max(free, p.x.sent)
	}
	sample := record.Sample{
		Operation: p.session.Operation(), Outcome: outcome, Follows: !p.session.First(),
		Intended: p.due, Lag: p.due - p.flowDue, Free: free, Sent: p.x.sent, Finished: finished,
		Status: int32(p.x.answer.Status), Connection: p.number, FirstByte: p.x.first, Connected: connected,
		Received: p.x.received, Written: p.x.written, Resent: p.x.resent,
	}
	if l.config.Recorder.Tapped() {
		sample.Noted = p.session.Notes()
	}
	l.record(sample)
	p.busy += finished - begun
	p.free = finished
	return outcome
}

// send sends the step and receives its answer. It connects first if needed, and returns the time that
// this took; the time limit starts again with the open connection. If the server may have closed the
// connection before the request came, send repeats a safe request on a new one (RFC 9110 section 9.2.2).
func (p *place) send() (connected time.Duration) {
	x := &p.x
	for again := false; ; again = true {
		x.begin()
		x.resent = again
		stood := p.link.stands()
		if !stood {
			if err := p.connect(); err != nil {
				x.fail(outcomeOfConnect(err), err.Error())
				return connected
			}
			p.free = p.loop.clock()
			connected = p.free - x.sent
		}
		p.link.exchange(p.loop.ctx, x)
		if !stood || !x.unanswered || !p.session.Repeatable() || !p.loop.permits() {
			return connected
		}
	}
}

// connect makes the connection within the time limit.
func (p *place) connect() error {
	ctx, cancel := context.WithTimeout(p.loop.ctx, p.loop.config.Timeout)
	defer cancel()
	return p.link.connect(ctx)
}
