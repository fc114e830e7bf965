package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// MaxConnections bounds the pool: a loopback address has about 28,000 ports.
const MaxConnections = 20_000

// Load describes a load on an engine, independent of the protocol. Package trial, which makes it, checks what
// users say; the engines check the number of connections only.
type Load struct {
	// Player makes the requests and judges the answers. Only one loop may use it.
	Player *scenario.Player
	// Open yields the due times of an open loop's flows; nil in a closed loop.
	Open schedule.Arrivals
	// Users is the closed loop; nil in an open loop.
	Users *Users
	// Duration is the time in which operations are begun. At its end a flow in progress may finish its
	// operation, but begins no other.
	Duration time.Duration
	// Connections is the size of the pool, which is open from the beginning. In a closed loop the number of
	// users determines it.
	Connections int
	// KeepAlive reuses connections. Without it every flow has its own, and only the first connection is made
	// before the load.
	KeepAlive bool
	// Timeout is the time limit of an operation, from the actual send or the attempt to connect.
	Timeout time.Duration
	// Grace is the time after Duration for which the engine waits for operations in flight. Zero: as long as
	// Timeout. Only tests set it, to wait less.
	Grace  time.Duration
	Pacing Pacing
	// MaxRate is the highest rate at which flows begin; in one second it is rounded up to a whole flow. Flows
	// that are due faster are held back, and count as unsent if they have not begun at the end. Zero: no limit.
	MaxRate float64
	// Until is the time from which on no operation begins, regardless of the duration. Zero: never.
	Until time.Time
	// Enough ends the duration when it is set; nil: nothing does.
	Enough *atomic.Bool
	// Connected is called when the pool is open and before the clock starts; nil: not called. It may block;
	// its error ends the load.
	Connected func() error
	// Recorder takes every operation.
	Recorder *record.Recorder
}

// Users are a closed loop: each user plays a flow, thinks, and plays the next.
type Users struct {
	Number int
	Think  time.Duration // between a flow and the next
	// First is the time at which the first user begins, Every that from one user to the next.
	First, Every time.Duration
}

// Begins returns when a user begins; users count from 0.
func (u Users) Begins(user int) time.Duration { return u.First + time.Duration(user)*u.Every }

// PermissionEnded returns the message of a load that ended at Until.
func (l *Load) PermissionEnded() string {
	return "the permission ended at " + l.Until.Format(time.RFC3339)
}

// CountUnsent counts the flows that the schedule still holds; due is the time of the next one, if more is
// set. It chooses a flow for each, so that the operation that was not sent is known. held: the highest
// permitted rate held them back.
func (l *Load) CountUnsent(r *Report, due time.Duration, more, held bool) {
	var flow scenario.Session
	for ; more && due < l.Duration; due, more = l.Open.Next() {
		l.Player.Begin(&flow)
		l.Recorder.Unsent(flow.Operation(), 1)
		r.Unsent++
	}
	switch {
	case r.Unsent == 0:
	case r.Stopped != "":
		r.UnsentBecause = r.Stopped
	case held:
		r.UnsentBecause = "the permission allows no higher rate"
	default:
		r.UnsentBecause = "no connection was free"
	}
}

// Config is one load on one target, played by one loop. The loop calls Connected on its own thread. In a
// closed loop every user has a connection of its own.
type Config struct {
	Target Target
	Load
}

// fill sets the number of connections, and returns an error if it is not possible.
func (c *Config) fill() error {
	if c.Users != nil {
		c.Connections = c.Users.Number
	}
	if c.Connections < 1 || c.Connections > MaxConnections {
		return fmt.Errorf("engine: %d connections or users: use 1 to %d", c.Connections, MaxConnections)
	}
	return nil
}

// ProcessorTime returns the processor time of this process (unix.RUSAGE_SELF) or of this thread
// (unix.RUSAGE_THREAD) so far.
func ProcessorTime(of int) (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(of, &usage); err != nil {
		return 0, fmt.Errorf("read own processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
