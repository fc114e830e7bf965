package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
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

// NewStarter returns the starter of a unit; nil where the unit shall have no faults that it could do.
func NewStarter(spec lab.UnitSpec, reach func(context.Context) (net.Conn, error)) *Starter {
	if len(spec.Faults) == 0 {
		return nil
	}
	return &Starter{token: rand.Text(), reach: reach}
}

// StarterFaults returns the faults that a starter does.
func StarterFaults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause}
}

// Orders returns what the starter is told beforehand, when it listens at an address.
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

// Harm does a fault to all processes of a unit on a platform of the user's. over is called when
// the unit's life has ended by it.
func (s *Starter) Harm(
	ctx context.Context, units *Supervisor, u *Unit, f lab.Fault, platform string, over func(),
) (proof string, err error) {
	switch {
	case f.Target == units.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case !slices.Contains(StarterFaults(), f.Kind):
		err = fmt.Errorf("it needs powers on the nodes of %s that Cleave does not have", platform)
	case s == nil:
		err = errors.New("it was not made ready for faults when it was started")
	case f.Kind == lab.FaultPause:
		proof, err = s.Tell(ctx, lab.StarterStop)
	default:
		if err = units.Doom(u); err != nil {
			break
		}
		if proof, err = s.Tell(ctx, lab.StarterEnd); err == nil {
			over()
			err = u.AwaitEnd(ctx)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// Heal undoes it. A unit that was killed begins another life by again, which calls Again.
func (s *Starter) Heal(
	ctx context.Context, units *Supervisor, u *Unit, f lab.Fault, again func() error,
) error {
	if f.Kind == lab.FaultPause {
		_, err := s.Tell(ctx, lab.StarterContinue)
		return err
	}
	if !units.IsDoomed(u) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", f.Target)
	}
	if err := again(); err != nil {
		return fmt.Errorf("start unit %s again: %w", f.Target, err)
	}
	return nil
}

// Again begins another life of a unit whose processes it has ended, and returns when that can be
// used. connect does what its deployer does in each life, bind is where the unit listens ("": it
// does not), and reach where this host finds it.
func (s *Starter) Again(ctx context.Context, u *Unit, connect func(context.Context) error,
	bind string, reach func(unit string) string) error {
	ctx, cancel := u.readyInTime(ctx)
	defer cancel()
	if _, err := s.Tell(ctx, lab.StarterStart); err != nil {
		return err
	}
	if err := connect(ctx); err != nil {
		return err
	}
	if bind != "" {
		if err := s.awaitListening(ctx, u, bind[strings.LastIndex(bind, ":")+1:]); err != nil {
			return err
		}
	}
	return u.AwaitUsable(ctx, reach(u.Spec.Name), atOnce)
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
			return u.endedEarly()
		case <-ctx.Done():
			return fmt.Errorf("%v: %w: %w", u, context.Cause(ctx), err)
		case <-time.After(dialAgain):
		}
	}
}
