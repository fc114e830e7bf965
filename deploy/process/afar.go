package process

import (
	"context"
	"io"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Afar is the units of a trial that are on this host while their conductor is on another
// one: it starts, hurts and ends them, and leaves all judging to that.
type Afar struct{ units *deployment }

// Ear is where the conductor of an Afar hears a unit.
type Ear struct {
	Out io.Writer // what the unit says, or its keeper
	Log io.Writer // what it writes to its standard error
	// Ended is called when the unit has ended and all that it said was heard. Of a foreign
	// unit how is the end of its keeper, which has told how the program ended.
	Ended func(how error, outOfMemory bool)
}

// OpenAfar makes ready for the units of a trial, whose private and existing directory is
// dir. It reserves ports; Stop gives them back, and removes the directory.
func (d *Deployer) OpenAfar(dir string, ports int) (*Afar, []int, error) {
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
	return &Afar{units}, reserved.Numbers, nil
}

// Know tells the addresses of all units. It comes before the first start.
func (a *Afar) Know(endpoints map[string]lab.Endpoint) { a.units.Endpoints = endpoints }

// Start asks for a unit.
type Start struct {
	Spec     lab.UnitSpec // Program is that of the host
	Again    bool         // its volume is as it has left it
	Prepares bool         // it is a command that runs to its end
	Visited  bool         // or to that of a visit
}

// Start starts a unit, and returns it with the life that ends it.
func (a *Afar) Start(asked Start, ear Ear) (*fleet.Unit, fleet.Instance, error) {
	d := a.units
	u := d.newUnit(asked.Spec)
	u.again, u.Prepares, u.Visited, u.ear = asked.Again, asked.Prepares, asked.Visited, &ear
	if err := u.Start(context.Background()); err != nil {
		return nil, nil, err
	}
	u.Prepares = true // its conductor knows what it is; here Stop waits for it
	d.Add(u)
	return u.Unit, u, nil
}

// Stop ends all units and removes the directory; it fails when anything is left. Nothing
// that hears a unit may hold it up any more.
func (a *Afar) Stop() error { return a.units.Stop() }
