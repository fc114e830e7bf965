package swarm

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// startStages starts units stage by stage. Each finds those before it by their names.
func (d *deployment) startStages(ctx context.Context, stages [][]lab.UnitSpec) error {
	for i, stage := range stages {
		if i > 0 {
			if err := d.awaitKnown(ctx, stages[i-1]); err != nil {
				return err
			}
		}
		if err := d.startAll(ctx, stage); err != nil {
			return err
		}
		d.reachPublished(stage)
		if err := d.awaitReady(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// reachPublished has the peers of units that shall be called so call their nodes.
func (d *deployment) reachPublished(specs []lab.UnitSpec) {
	for _, spec := range specs {
		if spec.Reached != lab.ReachPublished {
			continue
		}
		for _, name := range spec.Endpoints() {
			d.mu.Lock()
			d.trial.Endpoints[name] = d.outside[name]
			d.mu.Unlock()
		}
	}
}

// startAll starts services side by side.
func (d *deployment) startAll(ctx context.Context, specs []lab.UnitSpec) error {
	return supervise.SideBySide(ctx, atOnce, specs, func(ctx context.Context, spec lab.UnitSpec) error {
		s := d.newService(spec)
		d.add(s)
		return s.start(ctx)
	})
}

// awaitKnown waits until units are known by name on every node, or one of them has failed.
// Nodes hear of each other's a moment late, and foreign programs look names up but once.
func (d *deployment) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not known after %v", upPatience))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-d.Failed():
			fail(d.Failure())
		}
	}()
	return private.Each(ctx, d.cluster.Nodes, func(ctx context.Context, n *private.Node) error {
		for _, spec := range specs {
			if err := n.AwaitKnown(ctx, d.named(spec.Name).made.Name); err != nil {
				return fmt.Errorf("unit %s: %w", spec.Name, err)
			}
		}
		return nil
	})
}

// atOnce is how many services are started at the same time.
const atOnce = 16

// startServers starts the servers of a layout and returns when all can be used.
func (d *deployment) startServers(ctx context.Context, specs []lab.UnitSpec) error {
	return supervise.SideBySide(ctx, atOnce, specs, func(ctx context.Context, spec lab.UnitSpec) error {
		if err := d.startServer(ctx, spec); err != nil {
			return fmt.Errorf("start %s (%s): %w", spec.Name, spec.Server.Kind, err)
		}
		return nil
	})
}

func (d *deployment) startServer(ctx context.Context, spec lab.UnitSpec) error {
	for _, setup := range spec.Server.Setup {
		preparing := spec
		preparing.Program, preparing.Args = setup.Program, setup.Args
		if err := d.prepare(ctx, preparing, setup.Visit); err != nil {
			return err
		}
	}
	s := d.newService(spec)
	d.add(s)
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.awaitServer(ctx)
}

func (s *service) awaitServer(ctx context.Context) error {
	return supervise.AwaitVisit(ctx, s.Unit, s.deployment.dialOf(s.Spec.Name), s.Spec.Server.Ready)
}

// awaitReady waits until units that say when they are ready are.
func (d *deployment) awaitReady(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if spec.Ready == nil {
			continue
		}
		if err := supervise.AwaitVisit(ctx, d.named(spec.Name).Unit, d.dialOf(spec.Name), spec.Ready); err != nil {
			return err
		}
	}
	return nil
}
