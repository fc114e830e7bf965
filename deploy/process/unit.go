package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// unit is one life of a unit: its process, or the keeper of a foreign program.
type unit struct {
	*fleet.Unit
	deployment *deployment
	command    *exec.Cmd
	limits     *cgroup.Group // nil: none
	take       func(Output)  // gets the output of a remote unit; nil: the supervisor reads it
}

// newUnit returns a life of a unit before its start.
func (d *deployment) newUnit(spec lab.UnitSpec) *unit {
	return &unit{Unit: fleet.NewUnit(spec), deployment: d}
}

// Start implements fleet.Instance.
func (u *unit) Start(context.Context) error {
	err := u.begin()
	if err != nil && u.PID == 0 { // otherwise supervise closes it
		close(u.Ended)
	}
	return err
}

// begin makes the unit's volume and command, and starts it.
func (u *unit) begin() (err error) {
	d := u.deployment
	if !u.Further {
		if err := fleet.MakeVolume(d.group.dir, u.Spec, d.seenBy(u.Spec)); err != nil {
			return err
		}
	}
	if u.command, err = d.command(u.Unit); err != nil {
		return err
	}
	if err := d.launch(u); err != nil {
		return fmt.Errorf("start unit %s (%s): %w", u.Spec.Name, u.command.Path, err)
	}
	return nil
}

// End implements fleet.Instance. It closes the standard input: a keeper then ends its program, and a unit
// of our own, which has lost its conductor, ends itself.
func (u *unit) End(context.Context) error {
	u.HangUp()
	return nil
}

// launch starts a process and begins to read its events. A unit of our own is in the
// janitor's process group; the keeper of a foreign one has a session of its own.
func (d *deployment) launch(u *unit) error {
	command := u.command
	command.Stderr = u.Log
	if u.take != nil {
		command.Stderr = writer(func(data []byte) { u.take(Output{Log: data}) })
	}
	if u.Spec.Foreign {
		command.ExtraFiles = []*os.File{d.group.alive} // becomes aliveDescriptor
	} else {
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: d.group.janitor.Process.Pid,
			Pdeathsig: syscall.SIGKILL}
	}
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	commands, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if host := d.network.Named(u.Spec.Node); host != nil {
		if err := host.Enter(command); err != nil {
			return err
		}
	}
	u.Commands = commands
	limits, err := d.limitsOf(u.Spec)
	if err != nil {
		return err
	}
	if err := d.launcher.Start(command, u.Spec.Cores...); err != nil {
		return err
	}
	u.PID = command.Process.Pid
	u.limits = limits
	u.SetHostPID(u.PID)
	go d.supervise(u, events)
	if limits != nil {
		if err := limits.Add(u.PID); err != nil {
			_ = commands.Close() // a keeper then starts no program; a unit of ours ends with its group
			return err
		}
	}
	if u.Spec.Foreign {
		_, _ = commands.Write([]byte("\n")) // tells it to start; supervise reports a keeper that has ended
	}
	return nil
}

// limitsOf returns the control group of a unit, the same for all its lives; nil if it has no limits.
func (d *deployment) limitsOf(spec lab.UnitSpec) (limits *cgroup.Group, err error) {
	if spec.Limits == (lab.Limits{}) {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limits[spec.Name] == nil {
		d.limits[spec.Name], err = cgroup.Make(cgroup.Root, d.group.label, filepath.Base(d.group.dir), spec.Name,
			spec.Limits)
	}
	return d.limits[spec.Name], err
}

// supervise handles the events of the unit until it closes its output, waits for its end, and judges that.
func (d *deployment) supervise(u *unit, events io.Reader) {
	defer close(u.Ended)
	if u.take != nil {
		out := writer(func(data []byte) { u.take(Output{Out: data}) })
		_, _ = io.Copy(out, events) // it ends with the unit's output
	} else {
		d.HandleEvents(u.Unit, events)
	}
	ended := u.command.Wait()
	outOfMemory := u.limits != nil && u.limits.OutOfMemory()
	if u.take != nil {
		last := Output{Ended: true, OutOfMemory: outOfMemory}
		if ended != nil {
			last.Error = ended.Error()
		}
		u.take(last)
		return
	}
	const left = "here: remove them with: cleave clean" // the place of processes that a keeper may leave
	d.JudgeProcess(u.Unit, ended, outOfMemory, left)
}
