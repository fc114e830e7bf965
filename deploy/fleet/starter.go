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

// Starter controls the first process of a unit's container (package unit/starter), which may signal the other
// processes there.
type Starter struct {
	token string
	reach func(context.Context) (net.Conn, error)
}

// NewStarter returns the starter of a unit; nil if no fault that it can do is planned for the unit.
func NewStarter(spec lab.UnitSpec, reach func(context.Context) (net.Conn, error)) *Starter {
	can := func(kind lab.FaultKind) bool { return slices.Contains(StarterFaults(), kind) }
	if !slices.ContainsFunc(spec.Faults, can) {
		return nil
	}
	return &Starter{token: rand.Text(), reach: reach}
}

// StarterFaults returns the faults that a starter can do.
func StarterFaults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause}
}

// FaultSettings returns what the starter needs to do faults: the address at which it listens for commands,
// and its token. It returns nil if s is nil.
func (s *Starter) FaultSettings(address string) *lab.StarterFaults {
	if s == nil {
		return nil
	}
	return &lab.StarterFaults{Address: address, Token: s.token}
}

const (
	// longestAnswer bounds the answer of a starter, in bytes.
	longestAnswer = 4 << 10
	// tellPatience bounds a command to a starter, which gives up after a few seconds. Its node may be lost.
	tellPatience = time.Minute
)

// Tell sends a command to the starter and returns the proof of its effect.
func (s *Starter) Tell(ctx context.Context, command string) (proof string, err error) {
	if s == nil {
		return "", errors.New("it was not made ready for faults when it was started")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tellPatience, fmt.Errorf("no answer for %v", tellPatience))
	defer cancel()
	connection, err := s.reach(ctx)
	if err != nil {
		return "", fmt.Errorf("reach the first process of its container: %w", err)
	}
	defer func() { _ = connection.Close() }() // the answer is in
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := io.WriteString(connection, s.token+"\n"+command+"\n"); err != nil {
		return "", fmt.Errorf("tell the first process of its container to %s: %w", command, err)
	}
	text, err := io.ReadAll(io.LimitReader(connection, longestAnswer))
	answer := strings.TrimSpace(string(text))
	proof, done := strings.CutPrefix(answer, lab.StarterDone)
	switch {
	case done:
		return proof, nil
	case answer == "":
		return "", fmt.Errorf("the first process of its container does not say whether it did %s: %w",
			command, errors.Join(err, context.Cause(ctx)))
	}
	return "", errors.New(answer) // its error
}

// Pause stops all processes of the unit and returns the proof.
func (s *Starter) Pause(ctx context.Context) (proof string, err error) {
	return s.Tell(ctx, lab.StarterStop)
}

// Resume continues the processes that Pause has stopped.
func (s *Starter) Resume(ctx context.Context) error {
	_, err := s.Tell(ctx, lab.StarterContinue)
	return err
}

// StarterLife is one life of a unit that its starter may end. Platforms embed it in an Instance for the
// methods Kill, Pause and Resume.
type StarterLife struct {
	*Starter                 // nil: no fault is planned for the unit
	Lives    context.Context // ends when a fault ends the life, or with the fleet
	end      context.CancelFunc
}

// Life returns a new life of the unit. watching is the context of its fleet. s may be nil.
func (s *Starter) Life(watching context.Context) StarterLife {
	l := StarterLife{Starter: s}
	l.Lives, l.end = context.WithCancel(watching)
	return l
}

// Kill ends all processes of the unit and returns the proof.
func (l StarterLife) Kill(ctx context.Context) (proof string, err error) {
	proof, err = l.Tell(ctx, lab.StarterEnd)
	if err == nil {
		l.end()
	}
	return proof, err
}

// Again starts the next life of a unit whose processes it has ended, calls connect, and waits until the unit
// listens. bind is its address; "" if it does not listen.
func (s *Starter) Again(
	ctx context.Context, u *Unit, connect func(context.Context) error, bind string,
) error {
	ctx, cancel := u.readyInTime(ctx)
	defer cancel()
	if _, err := s.Tell(ctx, lab.StarterStart); err != nil {
		return err
	}
	if err := connect(ctx); err != nil || bind == "" {
		return err
	}
	port := bind[strings.LastIndex(bind, ":")+1:]
	ctx, done := WithEnd(ctx, u.Ended, u.endedEarly)
	defer done()
	err := Until(ctx, dialAgain, func() (bool, error) {
		_, err := s.Tell(ctx, lab.StarterListens+port)
		return err == nil, err
	})
	if err != nil {
		err = fmt.Errorf("%v does not listen at its port %s: %w", u, port, err)
	}
	return err
}
