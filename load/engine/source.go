package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/schedule"
)

// source yields the due times of flows, since the beginning of the load.
type source interface {
	// peek returns the next due time; ok is false if none is known now.
	peek() (due time.Duration, ok bool)
	// take consumes the next due time and returns the connection of its user; nil: any.
	take() *conn
	// pauses notes that a user does nothing until a time.
	pauses(now, until time.Duration)
	// finished notes that the flow on a connection has ended, the think time of its last
	// step, and whether the target was unreachable.
	finished(c *conn, now, think time.Duration, unreached bool)
}

// open is an open loop: due times come from a schedule alone. A flow without a free
// connection stays the next one. So the queue of due flows is the rest of the schedule
// and takes no memory.
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

// users is a closed loop. It holds the users that are in no flow, with their connections
// and the due times of their next flows.
type users struct {
	due   Agenda[*conn]
	think time.Duration
	end   time.Duration // operations are begun before it
	// For Little's law: the sums of the users' times from their first operation to the end
	// of their last, and of their pauses within.
	active, paused time.Duration
}

// newUsers returns one user for each connection.
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

// pauses counts a pause. If it outlasts the load, the user's last operation was at its
// beginning.
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

// stop ends the loop. Users who were due before the end, for a flow or for a step of one,
// have waited until then. Users who still wait for an answer do nothing after it.
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
