package users

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// Faults implements lab.Deployer: what the starters of units do, without powers on nodes.
func (d *Deployer) Faults() []lab.FaultKind { return supervise.StarterFaults() }

// Harm implements lab.Harmer: all processes of the unit have the fault.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	s := d.Named(f.Target)
	switch {
	case s == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case !slices.Contains(d.deployer.Faults(), f.Kind):
		err = fmt.Errorf("it needs powers on the nodes of %s that Cleave does not have", d.home.swarm.Name)
	default:
		proof, err = s.starter.Harm(ctx, d.Supervisor, s.Unit, f.Kind, s.over)
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	s := d.Named(f.Target)
	switch {
	case s == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		_, err := s.starter.Tell(ctx, lab.StarterContinue)
		return err
	case !d.IsDoomed(s.Unit):
		return fmt.Errorf("unit %q was not killed, so it is not started again", f.Target)
	}
	if err := d.startAgain(ctx, s); err != nil {
		return fmt.Errorf("start unit %s again: %w", f.Target, err)
	}
	return nil
}

// startAgain begins another life of a unit, in the container of the one that was ended on
// purpose, and returns when it can be used.
func (d *deployment) startAgain(ctx context.Context, old *service) error {
	s := d.newLife(old.Spec, old.hosted)
	s.Log = old.Log
	d.Add(s)
	return s.starter.Again(ctx, s.Unit, s.connect, d.trial.Endpoints[s.Spec.Name].Bind, d.reach)
}
