package stream

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// place is where one flow at a time is in progress: a goroutine with its part of a
// connection. In a closed loop it is a user.
type place struct {
	loop    *loop
	link    link
	number  int32 // of the connection
	session scenario.Session
	wake    chan bool // false: the end
	x       exchange

	due     time.Duration // of the next step
	flowDue time.Duration // of the first step of the flow
	free    time.Duration // since when the place could be used
	tally
}

// tally holds the counts of a place for the report.
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

// live plays the flows of a user of a closed loop, who begins at a time and thinks between flows. Its sums
// are for Little's law: from the first operation to the end of the last.
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

// flow plays a flow from its first step, which is due at p.due. It returns how the
// last step ended, and how long the user thinks after it.
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
		p.loop.ended.Add(1) // a flow that thinks waits for nothing of the target
		if !p.loop.sleep(p, p.due) {
			p.loop.mu.Lock()
			p.loop.cut++ // the end leaves it unfinished
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

// send sends the step and receives its answer, and connects before where that is
// needed; it returns how long that took. The time limit begins anew when the
// connection stands. A step whose connection the server may have ended before is
// sent again on a new one, where that is safe (RFC 9110 section 9.2.2).
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
