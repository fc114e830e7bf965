package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
)

// MaxConnections bounds the pool: a loopback address has about 28,000 ports.
const MaxConnections = 20_000

// Config is one load on one target.
type Config struct {
	Target  Target
	Request []byte // what every operation sends, see BuildRequest
	// HeadRequest: the method is HEAD, so answers have no body.
	HeadRequest bool
	Oracle      Oracle
	// Open are the due times of an open loop; nil in a closed loop.
	Open schedule.Arrivals
	// Users is the closed loop; nil in an open loop.
	Users *Users
	// Duration is the window in which operations are begun.
	Duration time.Duration
	// Connections is the size of the pool, open from the beginning. In a closed
	// loop it is the number of users.
	Connections int
	// Timeout is the limit of an operation, from its actual send (or the attempt
	// to connect).
	Timeout time.Duration
	// Grace is how long the engine waits, after Duration, for operations in
	// flight. Zero: as long as Timeout.
	Grace  time.Duration
	Pacing Pacing
	// Recorder takes every operation under the index Operation.
	Recorder  *record.Recorder
	Operation int
}

// Users are a closed loop: each waits for its answer, thinks, and goes on.
type Users struct {
	Number int
	Think  time.Duration // between an answer and the next operation
	RampUp time.Duration // over which the users begin, evenly
}

// check names all mistakes and fills what follows from the rest.
func (c *Config) check() error {
	var mistakes []error
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			mistakes = append(mistakes, fmt.Errorf(format, args...))
		}
	}
	complain((c.Open == nil) == (c.Users == nil), "engine: give either an open loop or users")
	if c.Users != nil {
		c.Connections = c.Users.Number
		complain(c.Users.Think < 0 || c.Users.RampUp < 0, "engine: think time and ramp-up must not be negative")
	}
	complain(c.Connections < 1 || c.Connections > MaxConnections,
		"engine: %d connections or users: use 1 to %d", c.Connections, MaxConnections)
	complain(c.Duration <= 0, "engine: duration %v is not above zero", c.Duration)
	complain(c.Timeout <= 0, "engine: timeout %v is not above zero", c.Timeout)
	complain(c.Grace < 0, "engine: grace %v is negative", c.Grace)
	complain(len(c.Request) == 0, "engine: the request is empty")
	complain(c.Recorder == nil, "engine: no recorder")
	if c.Grace == 0 {
		c.Grace = c.Timeout
	}
	return errors.Join(mistakes...)
}
