package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/schedule"
)

// source says when flows are due, as time since the beginning of the load.
type source interface {
	// peek is the next due time; ok is false when none is known now.
	peek() (due time.Duration, ok bool)
	// take consumes it.
	take()
	// pauses tells that whoever acts on a connection does nothing until a time.
	pauses(now, until time.Duration)
	// finished tells that a flow ended, how long its last step has one think, and
	// whether nobody could be reached.
	finished(now, think time.Duration, unreached bool)
}

// open is an open loop: due times come from a schedule alone. A flow that finds
// no connection stays next, and so do those behind it: the queue of due times is
// the rest of the schedule and takes no memory.
type open struct {
	arrivals schedule.Arrivals
	next     time.Duration
	more     bool
}

func newOpen(arrivals schedule.Arrivals) *open {
	o := &open{arrivals: arrivals}
	o.take()
	return o
}

func (o *open) peek() (time.Duration, bool)                 { return o.next, o.more }
func (o *open) take()                                       { o.next, o.more = o.arrivals.Next() }
func (o *open) pauses(time.Duration, time.Duration)         {}
func (o *open) finished(time.Duration, time.Duration, bool) {}

// backoff is how long a user waits after finding nobody at the target.
const backoff = 10 * time.Millisecond

// users is a closed loop: who is in no flow is here, with the time at which the
// next is due.
type users struct {
	due   agenda
	think time.Duration
	end   time.Duration // operations are begun before it
	// For Little's law: the sums of what users did between their first operation
	// and the end of their last, and of their pauses within.
	active, paused time.Duration
}

func newUsers(u Users, end time.Duration) *users {
	s := &users{think: u.Think, end: end, due: make(agenda, 0, u.Number)}
	for k := range u.Number { // ascending, so it is a heap
		due := time.Duration(float64(u.RampUp) * float64(k) / float64(u.Number))
		s.due = append(s.due, entry{due: due})
		if due < end {
			s.active -= due
		}
	}
	return s
}

func (u *users) peek() (time.Duration, bool) {
	if len(u.due) == 0 {
		return 0, false
	}
	return u.due[0].due, true
}

func (u *users) take() { u.due.pop() }

// pauses counts a pause, or the end of what a user did when the pause outlasts
// the load.
func (u *users) pauses(now, until time.Duration) {
	if until < u.end {
		u.paused += until - now
	} else {
		u.active += now
	}
}

func (u *users) finished(now, think time.Duration, unreached bool) {
	pause := u.think + think
	if unreached {
		pause = max(pause, backoff)
	}
	u.pauses(now, now+pause)
	u.due.push(entry{due: now + pause})
}

// stop ends the loop: who was due, for a flow or for the next step of one, and
// came too late has waited until then, and who still waits for an answer does
// nothing after it.
func (u *users) stop(now time.Duration, thinking agenda) {
	for _, waiting := range [...]agenda{u.due, thinking} {
		for _, e := range waiting {
			if e.due < u.end {
				u.active += e.due
			}
		}
	}
	u.end = min(u.end, now)
}
