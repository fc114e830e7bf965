package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
)

// Unit is one life of a unit, which is about to start, runs or has ended.
type Unit struct {
	Spec lab.UnitSpec
	Log  *Tail
	// Commands takes the commands to the unit.
	Commands io.Writer
	// PID is the number of the unit's process in its own PID namespace; 0 if the
	// deployer does not know it.
	PID int
	// Prepares: it is a command that runs before the units.
	Prepares bool
	// Visited: with Prepares, it is a server that runs while it is set up, until a client's visit has
	// succeeded (lab.ServerSetup).
	Visited bool
	// Further: it is not the first life, and its volume has the files of the former one.
	Further bool
	// Unkept is set if processes of a foreign unit may be left after its end.
	Unkept error
	// ReadLog reads the new part of the unit's log; nil: the log is streamed.
	ReadLog func(context.Context)
	// Healthy waits until the health check of the unit's container says that it is healthy.
	Healthy func(context.Context) error
	// Ended is closed when the unit has ended and all its events are handled.
	Ended chan struct{}

	written     <-chan struct{} // closed when the log has the text of Readiness.Log; see Expect
	clock       chan reply      // with the time of its clock
	usage       chan reply      // with its usage
	report      json.RawMessage
	failure     string      // its own message if it gave up; read after its end
	outcome     error       // how it ended: the error that JudgeEnd got; read after its end
	doomed      bool        // killed on purpose; guarded by the supervisor's mutex
	willRestart bool        // it is started again; read after its end
	restarting  atomic.Bool // a further life that cannot be used yet

	hostPID atomic.Int64

	asked  time.Time    // when its start was asked for
	usable atomic.Int64 // nanoseconds from asked until it could be used; 0: not known
}

// NewUnit returns a life of a unit before its start.
func NewUnit(spec lab.UnitSpec) *Unit {
	u := &Unit{
		Spec: spec, Ended: make(chan struct{}), asked: time.Now(),
		clock: make(chan reply, 1), usage: make(chan reply, 1),
	}
	u.WriteTo(&Tail{})
	return u
}

// WriteTo sets the log to which a unit appends, before its start.
func (u *Unit) WriteTo(log *Tail) {
	u.Log = log
	if text := u.Spec.Readiness.Log; text != "" {
		u.written = log.Expect(text)
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

// HasFinished reports whether a described unit (Spec.Container is set) has ended without an error: its work
// is done.
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

// SetHostPID records the process ID that HostPID returns.
func (u *Unit) SetHostPID(pid int) { u.hostPID.Store(int64(pid)) }

// HangUp closes the control connection of a unit.
func (u *Unit) HangUp() {
	if control, open := u.Commands.(io.Closer); open {
		_ = control.Close() // the unit may have closed its side already
	}
}

// AwaitEnd waits until Ended is closed.
func (u *Unit) AwaitEnd(ctx context.Context) error {
	select {
	case <-u.Ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("unit %s does not end: %w", u.Spec.Name, context.Cause(ctx))
	}
}

// send sends a command to the unit. It fails while the unit has no control connection yet.
func (u *Unit) send(command lab.Command) error {
	if u.Commands == nil {
		return fmt.Errorf("send %q to unit %s: it is being started", command.Command, u.Spec.Name)
	}
	if err := json.NewEncoder(u.Commands).Encode(command); err != nil {
		return fmt.Errorf("send %q to unit %s: %w", command.Command, u.Spec.Name, err)
	}
	return nil
}

// Tail keeps the end of a log, and tells when an expected text is written.
type Tail struct {
	bounded.Tail
	mu       sync.Mutex // guards expected
	expected *expected  // nil: nobody waits for a text
}

// expected is a text that a goroutine waits for.
type expected struct {
	text  string
	since []byte        // the end of the output since Expect, shorter than the text
	found chan struct{} // closed when the text was written
}

// Expect returns a channel that is closed when a text is written after this call. A later call replaces the
// text.
func (t *Tail) Expect(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = &expected{text: text, found: make(chan struct{})}
	return t.expected.found
}

// closeIfIn closes found if the output contains the text once data is appended to it, and reports whether it
// does.
func (e *expected) closeIfIn(data []byte) bool {
	e.since = append(e.since, data...)
	if bytes.Contains(e.since, []byte(e.text)) {
		close(e.found)
		return true
	}
	read := max(0, len(e.since)-len(e.text)+1) // bytes that cannot begin the text any more
	e.since = append(e.since[:0], e.since[read:]...)
	return false
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expected != nil && t.expected.closeIfIn(data) {
		t.expected = nil
	}
	return t.Tail.Write(data)
}

// lastLine returns the last line of the log; "" if the log is empty.
func (t *Tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return lines[len(lines)-1]
}

// shownLines is the number of lines of a log that an error repeats.
const shownLines = 5

// LastWords returns the last lines of the log as a suffix of an error message.
func (t *Tail) LastWords() string {
	text := strings.TrimSpace(t.String())
	if text == "" {
		return " (it wrote nothing)"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	return "; its last words:\n  " + strings.Join(lines, "\n  ")
}
