package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/cleave-lab/cleave/lab"
)

// unit is one started process.
type unit struct {
	spec     lab.UnitSpec
	command  *exec.Cmd
	commands io.WriteCloser
	prepares bool // it is a command that runs before the units
	doomed   bool // it is killed on purpose; guarded by the deployment's mutex
	log      *tail
	ended    chan struct{} // closed when the process is reaped and its output read
	report   json.RawMessage
	failure  string // what the unit itself said
	unkept   error  // of a foreign unit: its processes may be left
}

// launch starts a process and begins to listen to it: a unit of our own in the
// group, or the keeper of a foreign one beside it.
func (d *deployment) launch(u *unit) error {
	command := u.command
	u.ended = make(chan struct{})
	command.Stderr = u.log
	if u.spec.Foreign {
		command.ExtraFiles = []*os.File{d.group.alive} // becomes aliveDescriptor
	} else {
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: d.group.id(), Pdeathsig: syscall.SIGKILL}
	}
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if u.commands, err = command.StdinPipe(); err != nil {
		return err
	}
	if err := d.launcher.Start(command, u.spec.Cores...); err != nil {
		return err
	}
	go d.listen(u, events)
	return nil
}

// listen reads the unit's events until it closes its output, then reaps it.
func (d *deployment) listen(u *unit, events io.Reader) {
	defer close(u.ended)
	decoder := json.NewDecoder(events)
	for {
		var event lab.Event
		if err := decoder.Decode(&event); err != nil {
			if !errors.Is(err, io.EOF) && !d.isDoomed(u) {
				d.fail(fmt.Errorf("unit %s wrote what is no event: %w", u.spec.Name, err))
				_, _ = io.Copy(io.Discard, events) // or the unit blocks on a full pipe
			}
			break
		}
		d.handle(u, event)
	}
	ended := u.command.Wait()
	switch {
	case u.spec.Foreign:
		d.judgeForeign(u, ended)
	case !d.isDoomed(u):
		d.judgeExit(u, ended)
	}
}

func (d *deployment) handle(u *unit, event lab.Event) {
	switch {
	case event.Event == lab.EventFailed:
		u.failure = event.Error
	case u.spec.Foreign: // finished: the keeper ends now, too
	case event.Event == lab.EventReport:
		u.report = event.Data
	case u.spec.Name == d.lead:
		d.pass(event)
	default:
		d.fail(fmt.Errorf("unit %s said %q, but %s leads", u.spec.Name, event.Event, d.lead))
	}
}

// pass hands an event of the lead unit to Await. A lead that says more than the
// protocol has is broken; it must not block the reader.
func (d *deployment) pass(event lab.Event) {
	select {
	case d.events <- event:
	default:
		d.fail(fmt.Errorf("unit %s said %q while %d events were unread", d.lead, event.Event, len(d.events)))
	}
}

// judgeExit turns an end that nobody asked for into the trial's failure.
func (d *deployment) judgeExit(u *unit, err error) {
	if err == nil && d.mayEnd() && u.failure == "" {
		return
	}
	how := "ended before it was told to"
	if err != nil {
		how = "ended: " + err.Error()
	}
	if u.failure != "" {
		how = "failed: " + u.failure
	}
	if last := u.log.lastLine(); last != "" && u.failure == "" {
		how += " (" + last + ")"
	}
	d.fail(fmt.Errorf("unit %s %s", u.spec.Name, how))
}

// awaitEnd waits until the unit has ended.
func (u *unit) awaitEnd(ctx context.Context) error {
	select {
	case <-u.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("unit %s does not end after stop: %w", u.spec.Name, context.Cause(ctx))
	}
}

// send writes one command to the unit's standard input.
func (u *unit) send(command lab.Command) error {
	if err := json.NewEncoder(u.commands).Encode(command); err != nil {
		return fmt.Errorf("send %q to unit %s: %w", command.Command, u.spec.Name, err)
	}
	return nil
}

// maxLog is how much of a unit's standard error is kept, in bytes.
const maxLog = 64 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if excess := len(t.data) - maxLog; excess > 0 {
		t.data = append(t.data[:0], t.data[excess:]...)
	}
	return len(data), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return lines[len(lines)-1]
}
