package process

import (
	"context"
	"io"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Remote runs a trial's units on behalf of a conductor on another host: it starts, harms and ends them, and
// leaves it to the conductor to judge their ends.
type Remote struct{ units *deployment }

// Output is where a remote unit's output goes, and the news of its end.
type Output struct {
	Out io.Writer // what the unit says, or its keeper
	Log io.Writer // what it writes to its standard error
	// Ended is called when the unit has ended and all its output was written. Of a foreign unit how is the end
	// of its keeper, which has told how the program ended.
	Ended func(how error, outOfMemory bool)
}

// OpenRemote makes ready for the units of a trial, whose private and existing directory is dir. It reserves
// ports; Stop gives them back, and removes the directory.
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

// Know sets the addresses of all units. It is called before the first start.
func (r *Remote) Know(endpoints map[string]lab.Endpoint) { r.units.Endpoints = endpoints }

// Start is a request to start a unit.
type Start struct {
	Spec     lab.UnitSpec // with the program's path on this host
	Further  bool         // it is no first life: the volume stays as it is
	Prepares bool         // it is a command that runs to its end
	Visited  bool         // or until a client has visited it
}

// Start starts a unit, and returns it with the life that ends it.
func (r *Remote) Start(asked Start, output Output) (*fleet.Unit, fleet.Instance, error) {
	d := r.units
	u := d.newUnit(asked.Spec)
	u.Further, u.Prepares, u.Visited, u.output = asked.Further, asked.Prepares, asked.Visited, &output
	if err := u.Start(context.Background()); err != nil {
		return nil, nil, err
	}
	u.Prepares = true // its conductor judges its end; here Stop waits for it
	d.Add(u)
	return u.Unit, u, nil
}

// Stop ends all units and removes the directory. It fails if anything is left. Output must not block any
// more.
func (r *Remote) Stop() error { return r.units.Stop() }
