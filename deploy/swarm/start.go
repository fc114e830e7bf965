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
