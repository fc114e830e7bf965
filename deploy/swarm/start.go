package swarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// atOnce is how many services are started at the same time.
const atOnce = 16

// reachPublished has the peers of units that shall be called so call their nodes.
func (d *deployment) reachPublished(_ context.Context, specs []lab.UnitSpec) error {
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
	return nil
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
			if err := d.awaitKnownOn(ctx, n, d.Named(spec.Name)); err != nil {
				return fmt.Errorf("unit %s: %w", spec.Name, err)
			}
		}
		return nil
	})
}

// awaitKnownOn waits until a node knows a service by name, or that has done its part.
func (d *deployment) awaitKnownOn(ctx context.Context, n *private.Node, s *service) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-s.Ended:
			cancel(errors.New("it has ended"))
		}
	}()
	err := n.AwaitKnown(ctx, s.made.Name)
	if s.HasFinished() {
		return nil
	}
	return err
}
