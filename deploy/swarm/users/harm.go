package users

import (
	"context"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Faults implements lab.Deployer: what the starters of units do, without powers on nodes.
func (d *Deployer) Faults() []lab.FaultKind { return fleet.StarterFaults() }

// Harm implements lab.Harmer: all processes of the unit have the fault.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	s := d.Named(f.Target)
	if s == nil {
		return d.processes.(lab.Harmer).Harm(ctx, f)
	}
	return s.starter.Harm(ctx, d.Supervisor, s.Unit, f, d.home.swarm.Name, s.over)
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	s := d.Named(f.Target)
	if s == nil {
		return d.processes.(lab.Harmer).Heal(ctx, f)
	}
	return s.starter.Heal(ctx, d.Supervisor, s.Unit, f, func() error { return d.startAgain(ctx, s) })
}

// startAgain begins another life of a unit, in the container of the one that was ended on
// purpose, and returns when it can be used.
func (d *deployment) startAgain(ctx context.Context, old *service) error {
	s := d.newLife(old.Spec, old.hosted)
	s.WriteTo(old.Log)
	d.Add(s)
	return s.starter.Again(ctx, s.Unit, s.connect, d.trial.Endpoints[s.Spec.Name].Bind, d.reach)
}
