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

// unit is one process.
type unit struct {
	*fleet.Unit
	deployment *deployment
	command    *exec.Cmd
	commands   io.Closer     // nil until it is started
	limits     *cgroup.Group // nil: none
	output     *Output       // for a conductor on another host; nil: the supervisor gets it
}

func (d *deployment) newUnit(spec lab.UnitSpec) *unit {
	return &unit{Unit: fleet.NewUnit(spec), deployment: d}
}

// Start implements fleet.Instance.
func (u *unit) Start(context.Context) error {
	err := u.begin()
	if err != nil && u.PID == 0 {
		close(u.Ended)
	}
	return err
}

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

// End implements fleet.Instance. It is the keeper's signal; a unit of our own has no conductor any more.
func (u *unit) End(context.Context) error {
	if u.commands == nil {
		return nil // it was not started
	}
	return u.commands.Close()
}

// launch starts a process and begins to listen to it: a unit of our own in the
// group, or the keeper of a foreign one beside it.
func (d *deployment) launch(u *unit) error {
	command := u.command
	command.Stderr = u.Log
	if u.output != nil {
		command.Stderr = u.output.Log
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
	if host := d.network.named(u.Spec.Node); host != nil {
		if err := host.Enter(command); err != nil {
			return err
		}
	}
	u.commands, u.Commands = commands, commands
	limits, err := d.limitsOf(u.Spec)
	if err != nil {
		return err
	}
	if err := d.launcher.Start(command, u.Spec.Cores...); err != nil {
		return err
	}
	u.PID, u.limits = command.Process.Pid, limits
	u.SetHostPID(u.PID)
	go d.listen(u, events)
	if limits != nil {
		if err := limits.Add(u.PID); err != nil {
			_ = commands.Close() // a keeper starts nothing; a unit of ours ends with its group
			return err
		}
	}
	if u.Spec.Foreign {
		_, _ = commands.Write([]byte("\n")) // a keeper that has ended is heard of by its exit
	}
	return nil
}

// limitsOf returns the control group of a unit that has limits; it keeps it over restarts.
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

// listen hears the unit until it closes its output, then reaps it.
func (d *deployment) listen(u *unit, events io.Reader) {
	defer close(u.Ended)
	if u.output != nil {
		_, _ = io.Copy(u.output.Out, events) // it ends with the unit's output
	} else {
		d.Hear(u.Unit, events)
	}
	ended := u.command.Wait()
	outOfMemory := u.limits != nil && u.limits.OutOfMemory()
	if u.output != nil {
		u.output.Ended(ended, outOfMemory)
		return
	}
	d.JudgeProcess(u.Unit, ended, outOfMemory, "here: remove them with: cleave clean")
}
