package bigtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

// eventTimeout limits the wait for an event: far longer than any trial of the tests takes.
const eventTimeout = 3 * time.Minute

// Deployment is a running trial.
type Deployment struct {
	trial     Trial
	units     []*started // the core first
	addresses map[string]string
	dir       string
	memory    *os.File // shared by all units; nil: none
	events    chan unitEvent
	launcher  *launch.Launcher
}

// started is the process of a unit.
type started struct {
	spec    lab.UnitSpec
	command *exec.Cmd
	input   io.WriteCloser
	done    bool // it has ended and its end was received
}

// unitEvent is an event of a unit, or with ended set, its end.
type unitEvent struct {
	unit  *started
	event lab.Event
	ended bool
	err   error
}

// Start starts the named units of a trial, or all if none is named. The end of the test kills those that
// are left. A test that names units plays the others itself.
func Start(tb testing.TB, trial Trial, names ...string) *Deployment {
	tb.Helper()
	layout, err := big.System{}.Layout(trial.variant(), trial.point(), 1)
	testset.Must(tb, err)
	// Not tb.TempDir: a Unix socket's path may have 107 bytes only.
	dir, err := os.MkdirTemp("", "big")
	testset.Must(tb, err)
	d := &Deployment{
		trial: trial, dir: dir, events: make(chan unitEvent, 4*len(layout.Units)), launcher: launch.NewLauncher(),
	}
	tb.Cleanup(func() { d.close(tb) })
	d.memory, err = sharedMemory(layout.SharedMemory)
	testset.Must(tb, err)
	d.assignAddresses(tb, layout)
	for _, spec := range layout.Units {
		if len(names) > 0 && !slices.Contains(names, spec.Name) {
			continue
		}
		testset.Must(tb, d.start(spec))
	}
	return d
}

// assignAddresses gives every unit that listens a loopback port; ports rise in the
// order of the layout.
func (d *Deployment) assignAddresses(tb testing.TB, layout lab.Layout) {
	listening := slices.DeleteFunc(slices.Clone(layout.Units),
		func(spec lab.UnitSpec) bool { return !spec.Listens })
	ports, err := launch.ReservePorts(len(listening))
	testset.Must(tb, err)
	tb.Cleanup(ports.Close)
	d.addresses = map[string]string{}
	for i, spec := range listening {
		d.addresses[spec.Name] = launch.Loopback(ports.Numbers[i])
	}
}

// start starts the process of a unit.
func (d *Deployment) start(spec lab.UnitSpec) error {
	command := exec.Command(os.Args[0], spec.Args...)
	command.Env = append(os.Environ(), unitVariable+"=1", "CLEAVE_DIR="+d.dir)
	command.Env = append(command.Env, d.addressVariables(spec)...)
	command.Env = append(command.Env, spec.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	if d.memory != nil {
		command.ExtraFiles = []*os.File{d.memory}
	}
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.launcher.Start(command, spec.Cores...); err != nil {
		return fmt.Errorf("start unit %s: %w", spec.Name, err)
	}
	u := &started{spec: spec, command: command, input: input}
	d.units = append(d.units, u)
	go d.listen(u, output)
	return nil
}

// addressVariables returns the environment variables with the unit's address and those of its peers.
func (d *Deployment) addressVariables(spec lab.UnitSpec) []string {
	var variables []string
	if spec.Listens {
		variables = append(variables, "CLEAVE_ADDRESS="+d.addresses[spec.Name])
	}
	for _, peer := range spec.Peers {
		variables = append(variables, lab.PeerVariable(peer)+"="+d.addresses[peer])
	}
	return variables
}

// sharedMemory returns new shared memory of a size in bytes; nil if that is 0.
func sharedMemory(size int64) (*os.File, error) {
	if size == 0 {
		return nil, nil
	}
	descriptor, err := unix.MemfdCreate("big", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	memory := os.NewFile(uintptr(descriptor), "big")
	return memory, memory.Truncate(size)
}

// listen sends the events of a unit to d.events, and its end.
func (d *Deployment) listen(u *started, output io.Reader) {
	decoder := json.NewDecoder(output)
	for {
		var event lab.Event
		if err := decoder.Decode(&event); err != nil {
			d.events <- unitEvent{unit: u, ended: true, err: u.command.Wait()}
			return
		}
		d.events <- unitEvent{unit: u, event: event}
	}
}

// Dir returns the directory that the units share.
func (d *Deployment) Dir() string { return d.dir }

// Address returns the address of a unit that listens.
func (d *Deployment) Address(unit string) string { return d.addresses[unit] }

// Kill kills a unit with SIGKILL.
func (d *Deployment) Kill(name string) error {
	for _, u := range d.units {
		if u.spec.Name == name {
			return u.command.Process.Kill()
		}
	}
	return fmt.Errorf("no unit %q", name)
}

// Failure waits until a unit fails and returns its error. Any other event is an error.
func (d *Deployment) Failure() (string, error) {
	next, err := d.receive()
	switch {
	case err != nil:
		return "", err
	case next.event.Event == lab.EventFailed:
		return next.event.Error, nil
	}
	return "", fmt.Errorf("unit %s said %q, or ended (%t), without giving up: %v",
		next.unit.spec.Name, next.event.Event, next.ended, next.err)
}

// Command sends a command to the core.
func (d *Deployment) Command(kind lab.CommandKind) error {
	return json.NewEncoder(d.units[0].input).Encode(lab.Command{Command: kind})
}

// Await returns the core's next event of a kind. It fails as soon as any unit
// fails or ends.
func (d *Deployment) Await(kind lab.EventKind) (lab.Event, error) {
	next, err := d.next()
	switch {
	case err != nil:
		return lab.Event{}, err
	case next.ended:
		return lab.Event{}, fmt.Errorf("unit %s ended: %v", next.unit.spec.Name, next.err)
	case next.unit != d.units[0] || next.event.Event != kind:
		return lab.Event{}, fmt.Errorf("unit %s said %q, want %q", next.unit.spec.Name, next.event.Event, kind)
	}
	return next.event, nil
}

// next waits for the next event of any unit, or its end. A failure is an error.
func (d *Deployment) next() (unitEvent, error) {
	next, err := d.receive()
	if err == nil && next.event.Event == lab.EventFailed {
		err = fmt.Errorf("unit %s failed: %s", next.unit.spec.Name, next.event.Error)
	}
	return next, err
}

// receive waits for the next event of any unit, or its end.
func (d *Deployment) receive() (unitEvent, error) {
	select {
	case next := <-d.events:
		next.unit.done = next.unit.done || next.ended
		return next, nil
	case <-time.After(eventTimeout):
		return unitEvent{}, fmt.Errorf("no unit has said anything for %s", eventTimeout)
	}
}

// Stop sends the stop command to the core, waits until all units have ended by themselves, and returns their
// reports.
func (d *Deployment) Stop() ([]lab.UnitReport, error) {
	if err := d.Command(lab.CommandStop); err != nil {
		return nil, err
	}
	var reports []lab.UnitReport
	for running := len(d.units); running > 0; {
		next, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case next.ended && next.err != nil:
			return nil, fmt.Errorf("unit %s ended: %w", next.unit.spec.Name, next.err)
		case next.ended:
			running--
		case next.event.Event == lab.EventReport:
			u := next.unit
			reports = append(reports, lab.UnitReport{Unit: u.spec.Name, PID: u.command.Process.Pid,
				Data: next.event.Data})
		}
	}
	return reports, nil
}

// close kills and reaps what is left and removes the directory.
func (d *Deployment) close(tb testing.TB) {
	for _, u := range d.units {
		_ = u.command.Process.Kill() // most have ended long ago
	}
	for _, u := range d.units {
		for !u.done {
			if _, err := d.receive(); err != nil {
				tb.Error(err)
				return
			}
		}
	}
	d.launcher.Close()
	if d.memory != nil {
		_ = d.memory.Close() // nothing was written through it
	}
	if err := os.RemoveAll(d.dir); err != nil {
		tb.Error(err)
	}
}
