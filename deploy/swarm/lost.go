package swarm

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// killNode kills a node. Connections to what was there hear nothing of it: there is nobody
// who could tell them.
func (d *deployment) killNode(ctx context.Context, n *private.Node) error {
	lost := d.unitsOn(n)
	for _, s := range lost {
		if err := d.trial.MayRestart(s.Spec, d.lead); err != nil {
			return err
		}
	}
	for _, s := range lost {
		if err := d.Doom(s.Unit); err != nil {
			return err
		}
	}
	if err := n.Kill(ctx); err != nil {
		return err
	}
	for _, s := range lost {
		if control, is := s.Commands.(io.Closer); is {
			_ = control.Close() // nobody is at its other end
		}
		if err := s.AwaitEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}

// bootNode starts a node that was killed, and what was there again.
func (d *deployment) bootNode(ctx context.Context, n *private.Node) error {
	lost := d.unitsOn(n)
	if err := d.cluster.Boot(ctx, n); err != nil {
		return fmt.Errorf("boot node %s: %w", n.Name, err)
	}
	return d.moveAll(ctx, lost)
}

// watch looks for when the manager says that a node is down, which it is from now on.
func (d *deployment) watch(n *private.Node) {
	d.Watch(d.watching, n.Name, func(ctx context.Context) (bool, error) {
		nodes, err := d.cluster.Manager().SwarmNodes(ctx)
		return slices.ContainsFunc(nodes, func(one engine.SwarmNode) bool {
			return one.ID == n.ID && one.Status.State == "down"
		}), err
	})
}
