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

// AfarUnit is a unit of an Afar that runs, or did.
type AfarUnit struct{ unit *unit }

// Start asks for a unit.
type Start struct {
	Spec     lab.UnitSpec // Program is that of the host
	Again    bool         // its volume is as it has left it
	Prepares bool         // it is a command that runs to its end
	Visited  bool         // or to that of a visit
}

// Start starts a unit.
func (a *Afar) Start(asked Start, ear Ear) (*AfarUnit, error) {
	d := a.units
	u := d.newUnit(asked.Spec)
	u.again, u.Prepares, u.Visited, u.ear = asked.Again, asked.Prepares, asked.Visited, &ear
	if err := u.Start(context.Background()); err != nil {
		return nil, err
	}
	u.Prepares = true // its conductor knows what it is; here Stop waits for it
	d.Add(u)
	return &AfarUnit{u}, nil
}

// PID returns the number of the unit's process, or of its keeper.
func (u *AfarUnit) PID() int { return u.unit.PID }

// Tell hands the unit something that it reads as its standard input.
func (u *AfarUnit) Tell(text []byte) error {
	_, err := u.unit.Commands.Write(text)
	return err
}

// Release closes that input: a unit of our own then has no conductor any more, and the keeper
// of a foreign one ends it.
func (u *AfarUnit) Release() error { return u.unit.commands.Close() }

// Kill kills every process of the unit, and says what was seen of that.
func (u *AfarUnit) Kill() (proof string, err error) { return u.unit.Kill(context.Background()) }

// Pause stops every process of the unit, and says what was seen of that.
func (u *AfarUnit) Pause() (proof string, err error) { return u.unit.Pause(context.Background()) }

// Resume lets them go on.
func (u *AfarUnit) Resume() error { return u.unit.Resume(context.Background()) }

// Stop ends all units and removes the directory; it fails when anything is left. Nothing
// that hears a unit may hold it up any more.
func (a *Afar) Stop() error { return a.units.Stop() }
