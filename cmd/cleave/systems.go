package main

import (
	"github.com/cleave-lab/cleave/lab"
	airlinesystem "github.com/cleave-lab/cleave/systems/airline/system"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/crossing"
	peoplesystem "github.com/cleave-lab/cleave/systems/people/system"
	rehearsalsystem "github.com/cleave-lab/cleave/systems/rehearsal/system"
	shopsystem "github.com/cleave-lab/cleave/systems/shop/system"
	socialsystem "github.com/cleave-lab/cleave/systems/social/system"
)

// systemSettings holds the settings under which a system is played. The zero value is enough to
// describe a system.
type systemSettings struct {
	generator lab.Generator
	load      lab.Load
	spans     string // folder that keeps the spans of all trials; empty: no copies are kept
	model     string // the text of a model file; empty: none is played
}

// systems returns the systems under test of this program. The one that plays models is among them only if
// there is a model. Big and crossing have a job of their own, so they need no generator and no load. No other
// file of the program names a system (see "Add a system" in DESIGN.md).
func systems(c systemSettings) []lab.System {
	all := []lab.System{
		airlinesystem.System{Generator: c.generator, Load: c.load, Spans: c.spans},
		big.System{},
		crossing.System{},
		peoplesystem.System{Generator: c.generator, Load: c.load, Spans: c.spans},
		shopsystem.System{Generator: c.generator, Load: c.load, Spans: c.spans},
		socialsystem.System{Generator: c.generator, Load: c.load, Spans: c.spans},
	}
	if c.model != "" {
		all = append(all, rehearsalsystem.System{Generator: c.generator, Load: c.load, Model: c.model})
	}
	return all
}
