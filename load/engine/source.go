package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/schedule"
)

// source says when flows are due, as time since the beginning of the load.
type source interface {
	// peek is the next due time; ok is false when none is known now.
	peek() (due time.Duration, ok bool)
	// take consumes it and returns the connection of whose it is; nil: any.
	take() *conn
	// pauses tells that whoever acts on a connection does nothing until a time.
	pauses(now, until time.Duration)
	// finished tells that the flow on a connection ended, how long its last step has
	// one think, and whether nobody could be reached.
	finished(c *conn, now, think time.Duration, unreached bool)
}

// open is an open loop: due times come from a schedule alone. A flow that finds
// no connection stays next, and so do those behind it: the queue of due times is
// the rest of the schedule and takes no memory.
type open struct {
	arrivals schedule.Arrivals
	next     time.Duration
	more     bool
}

func (o *open) take() *conn {
	o.next, o.more = o.arrivals.Next()
	return nil
}

func (o *open) peek() (time.Duration, bool)                        { return o.next, o.more }
func (o *open) pauses(time.Duration, time.Duration)                {}
func (o *open) finished(*conn, time.Duration, time.Duration, bool) {}

// users is a closed loop: who is in no flow is here, with the own connection and the
// time at which the next flow is due.
type users struct {
	due   Agenda[*conn]
	think time.Duration
	end   time.Duration // operations are begun before it
	// For Little's law: the sums of what users did between their first operation
	// and the end of their last, and of their pauses within.
	active, paused time.Duration
}

// newUsers has one user for each connection.
func newUsers(u Users, end time.Duration, conns []conn) *users {
	s := &users{think: u.Think, end: end, due: make(Agenda[*conn], 0, u.Number)}
	for k := range conns { // ascending, so it is a heap
		due := u.Begins(k)
		s.due = append(s.due, Entry[*conn]{due, &conns[k]})
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
	return u.due[0].Due, true
}

func (u *users) take() *conn { return u.due.Pop().Who }

// pauses counts a pause, or the end of what a user did when the pause outlasts
// the load.
func (u *users) pauses(now, until time.Duration) {
	if until < u.end {
		u.paused += until - now
	} else {
		u.active += now
	}
}

func (u *users) finished(c *conn, now, think time.Duration, unreached bool) {
	pause := u.think + think
	if unreached {
		pause = max(pause, Backoff)
	}
	u.pauses(now, now+pause)
	u.due.Push(Entry[*conn]{now + pause, c})
}

// stop ends the loop: who was due, for a flow or for the next step of one, and
// came too late has waited until then, and who still waits for an answer does
// nothing after it.
func (u *users) stop(now time.Duration, thinking Agenda[*conn]) {
	for _, waiting := range [...]Agenda[*conn]{u.due, thinking} {
		for _, e := range waiting {
			if e.Due < u.end {
				u.active += e.Due
			}
		}
	}
	u.end = min(u.end, now)
}
