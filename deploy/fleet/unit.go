package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Unit is a unit that runs, or did.
type Unit struct {
	Spec lab.UnitSpec
	Log  *Tail
	// Commands take what the unit is told.
	Commands io.Writer
	// PID is the number of the unit's process as the unit itself sees it; 0 where the
	// deployer cannot tell.
	PID int
	// Prepares says that it is a command that runs before the units.
	Prepares bool
	// Unkept says of a foreign unit that has ended that processes of it may be left.
	Unkept error
	// ReadLog reads on in the unit's log; nil: it comes by itself.
	ReadLog func(context.Context)
	// Healthy waits until the health check of the unit's container says that it is healthy.
	Healthy func(context.Context) error
	// Ended is closed when the unit has ended and all that it said was heard.
	Ended chan struct{}

	said    <-chan struct{}      // see Expect
	clock   chan heard           // answers of its clock
	usage   chan json.RawMessage // answers of what it has used
	report  json.RawMessage
	failure string
	outcome error // see JudgeEnd
	doomed  bool  // guarded by the supervisor's mutex

	hostPID atomic.Int64

	asked  time.Time
	usable atomic.Int64 // nanoseconds from then until it could be used; 0: not known
}

// NewUnit returns a unit that is about to be started.
func NewUnit(spec lab.UnitSpec) *Unit {
	u := &Unit{
		Spec: spec, Ended: make(chan struct{}), asked: time.Now(),
		clock: make(chan heard, 1), usage: make(chan json.RawMessage, 1),
	}
	u.WriteTo(&Tail{})
	return u
}

// WriteTo gives the unit, which is about to be started, the log that it is to go on with.
func (u *Unit) WriteTo(log *Tail) {
	u.Log = log
	if text := u.Spec.Readiness.Log; text != "" {
		u.said = log.Expect(text)
	}
}

// Failure returns what the unit said when it gave up, or "". It is read after its end.
func (u *Unit) Failure() string { return u.failure }

// String names the unit in messages.
func (u *Unit) String() string {
	switch {
	case u.Spec.Server != nil:
		return u.Spec.Server.Kind
	case u.Spec.Compose != nil:
		return "service " + u.Spec.Name
	case u.Spec.Foreign:
		return fmt.Sprintf("unit %s (%s)", u.Spec.Name, cmp.Or(u.Spec.Program, u.Spec.Image))
	}
	return "unit " + u.Spec.Name
}

// HasFinished reports whether a unit that its Container describes has ended well: it has done its part.
func (u *Unit) HasFinished() bool {
	return u.hasEnded() && u.Spec.Container != nil && u.outcome == nil
}

func (u *Unit) hasEnded() bool {
	select {
	case <-u.Ended:
		return true
	default:
		return false
	}
}

// HostPID returns the number of the unit's first process, or its keeper's, on its host; 0: it is not known.
func (u *Unit) HostPID() int { return int(u.hostPID.Load()) }

// SetHostPID sets it.
func (u *Unit) SetHostPID(pid int) { u.hostPID.Store(int64(pid)) }

// HangUp closes the connection to a unit that is lost, or shall lose its conductor.
func (u *Unit) HangUp() {
	if control, open := u.Commands.(io.Closer); open {
		_ = control.Close() // nobody may be at its other end
	}
}

// AwaitEnd waits until the unit has ended.
func (u *Unit) AwaitEnd(ctx context.Context) error {
	select {
	case <-u.Ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("unit %s does not end after stop: %w", u.Spec.Name, context.Cause(ctx))
	}
}

func (u *Unit) send(command lab.Command) error {
	if u.Commands == nil {
		return fmt.Errorf("send %q to unit %s: it is being started", command.Command, u.Spec.Name)
	}
	if err := json.NewEncoder(u.Commands).Encode(command); err != nil {
		return fmt.Errorf("send %q to unit %s: %w", command.Command, u.Spec.Name, err)
	}
	return nil
}
