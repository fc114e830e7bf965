package process

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// unit is one process.
type unit struct {
	*supervise.Unit
	command  *exec.Cmd
	commands io.Closer
	prepares bool  // it is a command that runs before the units
	unkept   error // of a foreign unit: its processes may be left
}

func newUnit(spec lab.UnitSpec, command *exec.Cmd) *unit {
	return &unit{Unit: supervise.NewUnit(spec), command: command}
}

// launch starts a process and begins to listen to it: a unit of our own in the
// group, or the keeper of a foreign one beside it.
func (d *deployment) launch(u *unit) error {
	command := u.command
	command.Stderr = u.Log
	if u.Spec.Foreign {
		command.ExtraFiles = []*os.File{d.group.alive} // becomes aliveDescriptor
	} else {
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: d.group.id(), Pdeathsig: syscall.SIGKILL}
	}
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	commands, err := command.StdinPipe()
	if err != nil {
		return err
	}
	u.commands, u.Commands = commands, commands
	if err := d.launcher.Start(command, u.Spec.Cores...); err != nil {
		return err
	}
	u.PID = command.Process.Pid
	go d.listen(u, events)
	return nil
}

// listen hears the unit until it closes its output, then reaps it.
func (d *deployment) listen(u *unit, events io.Reader) {
	defer close(u.Ended)
	d.Hear(u.Unit, events)
	ended := u.command.Wait()
	if u.Spec.Foreign {
		d.judgeForeign(u, ended)
		return
	}
	d.Judge(u.Unit, ended)
}
