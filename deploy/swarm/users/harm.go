package users

import (
	"context"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Can implements lab.Deployer: the starters of units do faults, without powers on nodes.
func (d *Deployer) Can() lab.Capabilities { return lab.Capabilities{Faults: fleet.StarterFaults()} }

// platform returns what is done to services, most of it by their starters.
func (d *deployment) platform() fleet.Platform[*service] {
	return fleet.Platform[*service]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, AtOnce: atOnce, SetsUp: true,
		Span: lab.SpanContainer,
		New:  d.newService, Reach: d.reach, Dial: d.reach, NodeOf: d.nodeOf, Followed: d.awaitKnown,
		Next: d.next, Clear: d.clear, OwnClocks: true, Made: &d.deployer.made,
		Daemons: func() ([]lab.Unit, string) {
			return nil, "the swarm is the user's, of whose nodes nothing is read"
		},
	}
}

// Kill implements fleet.Instance.
func (s *service) Kill(ctx context.Context) (proof string, err error) {
	proof, err = s.starter.Tell(ctx, lab.StarterEnd)
	if err == nil {
		s.over()
	}
	return proof, err
}

// Pause implements fleet.Instance.
func (s *service) Pause(ctx context.Context) (proof string, err error) { return s.starter.Pause(ctx) }

// Resume implements fleet.Instance.
func (s *service) Resume(ctx context.Context) error { return s.starter.Resume(ctx) }

// End implements fleet.Instance.
func (s *service) End(ctx context.Context) error {
	return s.deployment.home.manager.RemoveService(ctx, s.id)
}

// AwaitOpen implements fleet.Instance. The starter has seen before that the unit listens.
func (s *service) AwaitOpen(context.Context) error { return nil }

// next returns another life of a unit, in the container of the one that has ended.
func (d *deployment) next(_ context.Context, ended *service, _ bool) (*service, error) {
	s := d.newLife(ended.Spec, ended.hosted)
	s.again = true
	return s, nil
}
