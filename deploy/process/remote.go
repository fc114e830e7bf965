package process

import (
	"bytes"
	"context"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Remote runs a trial's units on behalf of a conductor on another host: it starts, harms and ends them, and
// leaves it to the conductor to judge their ends.
type Remote struct{ units *deployment }

// Output is the next output of a remote unit, or its end.
type Output struct {
	Out   []byte // events of the unit, or of its keeper
	Log   []byte // standard error
	Ended bool   // the unit has ended, and this is its last output
	// Error describes the failure of the unit's process; "": it has not failed. The process of a foreign unit
	// is its keeper, which reports the end of the program by events in Out.
	Error       string
	OutOfMemory bool // the kernel has killed the unit at its memory limit
}

// writer is a function that takes copies of the data that are written to it.
type writer func(copied []byte)

// Write implements io.Writer.
func (w writer) Write(data []byte) (int, error) {
	w(bytes.Clone(data))
	return len(data), nil
}

// OpenRemote prepares this host for the units of a trial. dir is the trial's directory, which exists and
// which nobody else uses. OpenRemote reserves a number of ports and returns them. Stop frees the ports and
// removes the directory.
func (d *Deployer) OpenRemote(dir string, ports int) (*Remote, []int, error) {
	reserved, err := launch.ReservePorts(ports)
	if err != nil {
		return nil, nil, err
	}
	group, err := startGroup(d.janitor, dir, d.label)
	if err != nil {
		reserved.Close()
		return nil, nil, err
	}
	units := d.newDeployment(context.Background(), lab.Layout{}, group, fleet.NewSupervisor(lab.Layout{}, ""))
	units.ports = reserved
	return &Remote{units}, reserved.Numbers, nil
}

// SetEndpoints sets the endpoints of all units of the trial. It is called before the first Start.
func (r *Remote) SetEndpoints(endpoints map[string]lab.Endpoint) { r.units.Endpoints = endpoints }

// Start is a request to start a unit.
type Start struct {
	Spec     lab.UnitSpec // with the program's path on this host
	Further  bool         // this is not the first life: the volume stays as it is
	Prepares bool         // the unit is a command that runs before the others, to its end
	Visited  bool         // with Prepares: a server in its setup, which ends after a client's visit
}

// Start starts a unit and passes its output to take. It returns one life in two types: Unit, and Instance for
// faults.
func (r *Remote) Start(asked Start, take func(Output)) (*fleet.Unit, fleet.Instance, error) {
	d := r.units
	u := d.newUnit(asked.Spec)
	u.Further = asked.Further
	u.Prepares = asked.Prepares
	u.Visited = asked.Visited
	u.take = take
	if err := u.Start(context.Background()); err != nil {
		return nil, nil, err
	}
	u.Prepares = true // Add gives the supervisor no unit that prepares, and Stop waits for it, too
	d.Add(u)
	return u.Unit, u, nil
}

// Stop ends all units and removes the directory. It fails if anything is left. The take functions of Start
// must not block from now on.
func (r *Remote) Stop() error { return r.units.Stop() }
