package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/schedule"
)

// source says when operations are due, as time since the beginning of the load.
type source interface {
	// peek is the next due time; ok is false when none is known now.
	peek() (due time.Duration, ok bool)
	// take consumes it.
	take()
	// finished tells that an operation ended, and whether nobody could be reached.
	finished(now time.Duration, unreached bool)
}

// open is an open loop: due times come from a schedule alone. An operation that
// finds no connection stays next, and so do those behind it: the queue of due
// times is the rest of the schedule and takes no memory.
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

func (o *open) peek() (time.Duration, bool)  { return o.next, o.more }
func (o *open) take()                        { o.next, o.more = o.arrivals.Next() }
func (o *open) finished(time.Duration, bool) {}

// backoff is how long a user waits after finding nobody at the target.
const backoff = 10 * time.Millisecond

// users is a closed loop: who is not waiting for an answer is here, with the
// time at which the next operation is due, as a binary heap.
type users struct {
	due   []time.Duration
	think time.Duration
	end   time.Duration // operations are begun before it
	// For Little's law: the sums of what users did between their first operation
	// and the end of their last, and of their pauses within.
	active, paused time.Duration
}

func newUsers(u Users, end time.Duration) *users {
	s := &users{think: u.Think, end: end, due: make([]time.Duration, 0, u.Number)}
	for k := range u.Number { // ascending, so it is a heap
		s.due = append(s.due, time.Duration(float64(u.RampUp)*float64(k)/float64(u.Number)))
		if s.due[k] < end {
			s.active -= s.due[k]
		}
	}
	return s
}

func (u *users) peek() (time.Duration, bool) {
	if len(u.due) == 0 {
		return 0, false
	}
	return u.due[0], true
}

func (u *users) take() {
	last := len(u.due) - 1
	u.due[0] = u.due[last]
	u.due = u.due[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if u.due[child] < u.due[least] {
				least = child
			}
		}
		if least == i {
			return
		}
		u.due[i], u.due[least] = u.due[least], u.due[i]
		i = least
	}
}

func (u *users) finished(now time.Duration, unreached bool) {
	pause := u.think
	if unreached {
		pause = max(pause, backoff)
	}
	if now+pause < u.end {
		u.paused += pause
	} else {
		u.active += now // the last operation of a user
	}
	u.due = append(u.due, now+pause)
	for i := len(u.due) - 1; i > 0 && u.due[i] < u.due[(i-1)/2]; i = (i - 1) / 2 {
		u.due[i], u.due[(i-1)/2] = u.due[(i-1)/2], u.due[i]
	}
}

// stop ends the loop: who was due and came too late has waited until then, and
// who still waits for an answer does nothing after it.
func (u *users) stop(now time.Duration) {
	for _, due := range u.due {
		if due < u.end {
			u.active += due
		}
	}
	u.end = min(u.end, now)
}
