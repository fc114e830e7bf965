package swarm

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// nodes declares what the fleet can do to the nodes: faults, and drains. Swarm stops the tasks of a drained
// node, but does not replace them, because services have the restart policy "none". Only the fleet starts a
// task again, so that faults last as long as the study says.
func (t *privateTrial) nodes() fleet.Nodes[*service] {
	return fleet.Nodes[*service]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut, Lost: t.isDown,
		Named: func(name string) fleet.Node {
			if n := t.cluster.Named(name); n != nil {
				return node{n, t}
			}
			return nil
		},
		// 2377 is the port of managers. Workers refuse connections there, which also proves that they are up
		// (hosts.Unreached).
		Probe: func(name string) string { return net.JoinHostPort(t.cluster.Named(name).Address, "2377") },
		Perished: func(ctx context.Context, s *service) error {
			s.HangUp() // the node may have left the connection open
			return s.AwaitEnd(ctx)
		},
		Close:      t.close,
		Evict:      func(ctx context.Context, s *service) error { return s.AwaitEnd(ctx) },
		AwaitEmpty: t.checkEmpty,
	}
}

// node implements fleet.Node.
type node struct {
	*private.Node
	trial *privateTrial
}

// Boot implements fleet.Node. It also restores the detours, which redirect callers to units that have moved:
// the node has lost these rules with its network.
func (n node) Boot(ctx context.Context) error {
	if err := n.trial.cluster.Boot(ctx, n.Node); err != nil {
		return err
	}
	return n.trial.restoreDetours(ctx, n.Node)
}

// isDown reports whether the manager says that a node is down.
func (t *privateTrial) isDown(ctx context.Context, name string) (bool, error) {
	nodes, err := t.cluster.Manager().SwarmNodes(ctx)
	id := t.cluster.Named(name).ID
	return slices.ContainsFunc(nodes, func(one engine.SwarmNode) bool {
		return one.ID == id && one.Status.State == "down"
	}), err
}

// close drains a node if closed is true. Otherwise it makes the node available again, and waits until all
// nodes without a fault see each other in the network of the units, so that units on this node can be called.
func (t *privateTrial) close(ctx context.Context, name string, closed bool) error {
	if err := t.cluster.Manager().Drain(ctx, t.cluster.Named(name).ID, closed); err != nil || closed {
		return err
	}
	return t.cluster.AwaitPeers(ctx)
}

// checkEmpty returns an error if the daemon of a node still runs a unit of the trial. It does not wait: Evict
// has waited for the end of every unit.
func (t *privateTrial) checkEmpty(ctx context.Context, name string) error {
	n := t.cluster.Named(name)
	units, err := n.Units(ctx)
	if err != nil {
		return err
	}
	for _, unit := range units {
		state, err := n.Engine.State(ctx, unit.ID)
		if err != nil {
			return err
		}
		if state.Pid != 0 {
			return fmt.Errorf("%s still runs the container %.12s, which is %s", n.Name, unit.ID, state.Status)
		}
	}
	return nil
}
