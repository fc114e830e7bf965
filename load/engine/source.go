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
	// pauses notes that a user is idle until a time.
	pauses(now, until time.Duration)
	// finished notes the end of the flow on a connection, the think time of its last step, and whether the
	// target was unreachable.
	finished(c *conn, now, think time.Duration, unreached bool)
}

// open is an open loop: due times come from a schedule alone. A flow without a free connection remains
// the next one, so the queue of due flows is the rest of the schedule and takes no memory.
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

// users is a closed loop. It holds the users between flows, with their connections and the due times of
// their next flows.
type users struct {
	due   Agenda[*conn]
	think time.Duration
	end   time.Duration // no operation begins from then on
	// For Little's law: the sums of the users' times from their first operation to the end of their last,
	// and of their pauses in between.
	active, paused time.Duration
}

// newUsers returns one user for each connection.
func newUsers(u Users, end time.Duration, conns []conn) *users {
	s := &users{think: u.Think, end: end, due: make(Agenda[*conn], 0, u.Number)}
	for k := range conns { // in ascending order of Due, so it is a heap
		due := u.Begins(k)
		s.due = append(s.due, Entry[*conn]{due, &conns[k]})
		if due < end {
			s.active -= due // the end of the user's last operation is added later
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

// pauses counts a pause. If it lasts longer than the load, the user's last operation ended at the
// beginning of the pause.
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

// stop ends the loop. Users whose next flow or step was due before the end have paused until it was
// due. Users who still wait for an answer do nothing after it.
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
