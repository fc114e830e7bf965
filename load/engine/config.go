package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// MaxConnections bounds the pool: a loopback address has about 28,000 ports.
const MaxConnections = 20_000

// Config is one load on one target, played by one loop.
type Config struct {
	Target Target
	// Player says what is sent and whether answers are right. It belongs to this
	// loop alone.
	Player *scenario.Player
	// Open are the due times of an open loop's flows; nil in a closed loop.
	Open schedule.Arrivals
	// Users is the closed loop; nil in an open loop.
	Users *Users
	// Duration is the window in which operations are begun. A flow that is in
	// progress at its end has its operation in flight answered and no further one.
	Duration time.Duration
	// Connections is the size of the pool, open from the beginning: the most flows
	// in progress. In a closed loop every user has one of its own.
	Connections int
	// KeepAlive uses connections again. Without it every flow has its own, and
	// nothing but the first connection is made before the load.
	KeepAlive bool
	// Timeout is the limit of an operation, from its actual send (or the attempt
	// to connect).
	Timeout time.Duration
	// Grace is how long the engine waits, after Duration, for operations in
	// flight. Zero: as long as Timeout.
	Grace  time.Duration
	Pacing Pacing
	// MaxRate is the most flows per second that are ever begun, measured over about
	// a second. What is due beyond it is held back, and unsent in the end. Zero: no
	// limit.
	MaxRate float64
	// Until is when nothing is begun any more, whatever the duration. Zero: never.
	Until time.Time
	// Enough, if given, ends the duration when it is set.
	Enough *atomic.Bool
	// Connected, if given, is called on the loop's own thread when the pool is open
	// and before the clock starts. It may block; its error ends the load.
	Connected func() error
	// Recorder takes every operation.
	Recorder *record.Recorder
}

// Users are a closed loop: each plays a flow, thinks, and plays the next.
type Users struct {
	Number int
	Think  time.Duration // between a flow and the next
	RampUp time.Duration // over which the users begin, evenly
}

// check names all mistakes and fills what follows from the rest.
func (c *Config) check() error {
	var mistakes []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			mistakes = append(mistakes, fmt.Errorf(format, args...))
		}
	}
	refuse((c.Open == nil) == (c.Users == nil), "engine: give either an open loop or users")
	if c.Users != nil {
		c.Connections = c.Users.Number
		refuse(c.Users.Think < 0 || c.Users.RampUp < 0, "engine: think time and ramp-up must not be negative")
	}
	refuse(c.Connections < 1 || c.Connections > MaxConnections,
		"engine: %d connections or users: use 1 to %d", c.Connections, MaxConnections)
	refuse(c.Duration <= 0, "engine: duration %v is not above zero", c.Duration)
	refuse(c.Timeout <= 0, "engine: timeout %v is not above zero", c.Timeout)
	refuse(c.Grace < 0, "engine: grace %v is negative", c.Grace)
	refuse(!(c.MaxRate >= 0), "engine: a highest rate of %g/s is negative", c.MaxRate)
	refuse(!c.Until.IsZero() && !time.Now().Before(c.Until),
		"engine: the load must not go on after %s, which is over",
		c.Until.Format(time.RFC3339))
	refuse(c.Player == nil, "engine: no player of a scenario")
	refuse(c.Recorder == nil, "engine: no recorder")
	if c.Grace == 0 {
		c.Grace = c.Timeout
	}
	return errors.Join(mistakes...)
}
