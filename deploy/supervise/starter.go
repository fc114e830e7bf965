package supervise

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Starter is the first process of a unit's container (package unit/starter), which does to the
// others there what nobody outside may.
type Starter struct {
	token string
	reach func(context.Context) (net.Conn, error)
}

// NewStarter is that of a unit; nil where the unit shall have no faults that it could do.
func NewStarter(spec lab.UnitSpec, reach func(context.Context) (net.Conn, error)) *Starter {
	if len(spec.Faults) == 0 {
		return nil
	}
	return &Starter{token: rand.Text(), reach: reach}
}

// StarterFaults are the faults that a starter does.
func StarterFaults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause}
}

// Orders are what the starter is told beforehand, when it listens at an address.
func (s *Starter) Orders(address string) *lab.StarterFaults {
	if s == nil {
		return nil
	}
	return &lab.StarterFaults{Address: address, Token: s.token}
}

// longestAnswer is that of a starter, in bytes.
const longestAnswer = 4 << 10

// Tell has the starter do something and returns what it has seen of that.
func (s *Starter) Tell(ctx context.Context, what string) (seen string, err error) {
	connection, err := s.reach(ctx)
	if err != nil {
		return "", fmt.Errorf("reach the first process of its container: %w", err)
	}
	defer func() { _ = connection.Close() }() // the answer is in
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := io.WriteString(connection, s.token+"\n"+what+"\n"); err != nil {
		return "", fmt.Errorf("tell the first process of its container to %s: %w", what, err)
	}
	text, err := io.ReadAll(io.LimitReader(connection, longestAnswer))
	said := strings.TrimSpace(string(text))
	seen, done := strings.CutPrefix(said, lab.StarterDone)
	switch {
	case done:
		return seen, nil
	case said == "":
		return "", fmt.Errorf("the first process of its container does not say whether it did %s: %w",
			what, errors.Join(err, context.Cause(ctx)))
	}
	return "", errors.New(said)
}

// Harm does a fault to a unit. over is called when its life has ended by it.
func (s *Starter) Harm(ctx context.Context, units *Supervisor, u *Unit, kind lab.FaultKind, over func()) (string, error) {
	switch {
	case s == nil:
		return "", errors.New("it was not made ready for faults when it was started")
	case kind == lab.FaultPause:
		return s.Tell(ctx, lab.StarterStop)
	}
	if err := units.Doom(u); err != nil {
		return "", err
	}
	proof, err := s.Tell(ctx, lab.StarterEnd)
	if err != nil {
		return "", err
	}
	over()
	return proof, u.AwaitEnd(ctx)
}

// Again begins another life of a unit whose processes it has ended, and returns when that can be
// used. connect does what its deployer does in each life, bind is where the unit listens ("": it
// does not), and reach where this host finds it.
func (s *Starter) Again(ctx context.Context, u *Unit, connect func(context.Context) error,
	bind string, reach func(unit string) string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("not ready after %v", readyPatience))
	defer cancel()
	if _, err := s.Tell(ctx, lab.StarterStart); err != nil {
		return err
	}
	if err := connect(ctx); err != nil || bind == "" {
		return err
	}
	if err := s.awaitListening(ctx, u, bind[strings.LastIndex(bind, ":")+1:]); err != nil {
		return err
	}
	ready := readyOf(u.Spec)
	if ready == nil {
		return nil
	}
	return AwaitVisit(ctx, u, reach(u.Spec.Name), ready)
}

// awaitListening waits until the unit listens at a port.
func (s *Starter) awaitListening(ctx context.Context, u *Unit, port string) error {
	for {
		_, err := s.Tell(ctx, lab.StarterListens+port)
		if err == nil {
			return nil
		}
		select {
		case <-u.Ended:
			return fmt.Errorf("%v ended at once%s", u, u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("%v: %w: %w", u, context.Cause(ctx), err)
		case <-time.After(dialAgain):
		}
	}
}
