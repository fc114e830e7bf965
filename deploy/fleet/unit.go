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

// Unit is one life of a unit, which runs or has ended.
type Unit struct {
	Spec lab.UnitSpec
	Log  *Tail
	// Commands takes the commands to the unit.
	Commands io.Writer
	// PID is the number of the unit's process as the unit itself sees it; 0 where the
	// deployer cannot tell.
	PID int
	// Prepares: it is a command that runs before the units.
	Prepares bool
	// Visited: it prepares as a server, until somebody has done something at its address.
	Visited bool
	// Further: it is not the first life, and its volume is as the former one has left it.
	Further bool
	// Unkept is set if processes of a foreign unit may be left after its end.
	Unkept error
	// ReadLog reads the new part of the unit's log; nil: the log is streamed.
	ReadLog func(context.Context)
	// Healthy waits until the health check of the unit's container says that it is healthy.
	Healthy func(context.Context) error
	// Ended is closed when the unit has ended and all its events are handled.
	Ended chan struct{}

	said    <-chan struct{} // see Expect
	clock   chan heard      // answers of its clock
	usage   chan heard      // answers of what it has used
	report  json.RawMessage
	failure string // its own message if it gave up; read after its end
	outcome error  // see JudgeEnd
	doomed  bool   // guarded by the supervisor's mutex
	again   bool   // see startsAgain; to be read when it has ended
	rising  bool   // a further life that cannot be used yet; guarded by the supervisor's mutex

	hostPID atomic.Int64

	asked  time.Time
	usable atomic.Int64 // nanoseconds from then until it could be used; 0: not known
}

// NewUnit returns a unit before its start.
func NewUnit(spec lab.UnitSpec) *Unit {
	u := &Unit{
		Spec: spec, Ended: make(chan struct{}), asked: time.Now(),
		clock: make(chan heard, 1), usage: make(chan heard, 1),
	}
	u.WriteTo(&Tail{})
	return u
}

// WriteTo sets the log to which a unit appends, before its start.
func (u *Unit) WriteTo(log *Tail) {
	u.Log = log
	if text := u.Spec.Readiness.Log; text != "" {
		u.said = log.Expect(text)
	}
}

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

// HasFinished reports whether a unit with a Container has done its part: it ended without an error.
func (u *Unit) HasFinished() bool {
	return u.HasEnded() && u.Spec.Container != nil && u.outcome == nil
}

// HasEnded reports whether the unit's process has ended.
func (u *Unit) HasEnded() bool {
	select {
	case <-u.Ended:
		return true
	default:
		return false
	}
}

// HostPID returns the process ID of the unit's first process, or of its keeper, on its host; 0 if unknown.
func (u *Unit) HostPID() int { return int(u.hostPID.Load()) }

// SetHostPID sets it.
func (u *Unit) SetHostPID(pid int) { u.hostPID.Store(int64(pid)) }

// HangUp closes the control connection of a unit.
func (u *Unit) HangUp() {
	if control, open := u.Commands.(io.Closer); open {
		_ = control.Close() // nobody may be at its other end
	}
}

// AwaitEnd waits until Ended is closed.
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
