package swarm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// drainNode has the swarm empty a node, and what was there run where its scheduler wants it.
// The swarm itself only stops it: services say that nothing starts again by itself, or
// faults would not last as long as a study says.
func (d *deployment) drainNode(ctx context.Context, n *private.Node) (proof string, err error) {
	there := d.unitsOn(n)
	for _, s := range there {
		if err := d.trial.MayMove(s.Spec, d.lead); err != nil {
			return "", err
		}
	}
	for _, s := range there {
		if err := d.Doom(s.Unit); err != nil {
			return "", err
		}
	}
	d.mu.Lock()
	d.drained = append(d.drained, n)
	d.mu.Unlock()
	if err := d.cluster.Manager().SetAvailability(ctx, n.ID, engine.Drain); err != nil {
		return "", err
	}
	for _, s := range there {
		if err := s.AwaitEnd(ctx); err != nil {
			return "", err
		}
	}
	if err := d.moveAll(ctx, there); err != nil {
		return "", err
	}
	return d.emptied(ctx, n, there)
}

// unitsOn returns the units that are on a node.
func (d *deployment) unitsOn(n *private.Node) []*service {
	return slices.DeleteFunc(d.All(), func(s *service) bool { return s.node != n })
}

// moveAll starts units that have ended anew, on any node.
func (d *deployment) moveAll(ctx context.Context, ended []*service) error {
	return containers.ServersFirst(ended, func(s *service) lab.UnitSpec { return s.Spec },
		func(some []*service) error {
			return fleet.SideBySide(ctx, atOnce, some,
				func(ctx context.Context, s *service) error { return d.startAgain(ctx, s, d.wanted(s.Spec)) })
		})
}

// emptied proves by the daemon of a node that no unit of the trial runs there any more.
func (d *deployment) emptied(
	ctx context.Context, n *private.Node, were []*service,
) (proof string, err error) {
	things, err := n.Units(ctx)
	if err != nil {
		return "", err
	}
	for _, thing := range things {
		state, err := n.Engine.Inspect(ctx, thing.ID)
		if err != nil {
			return "", err
		}
		if state.Pid != 0 {
			return "", fmt.Errorf("%s still runs the container %.12s, which is %s", n.Name, thing.ID, state.Status)
		}
	}
	return containers.Emptied(were, func(s *service) string { return d.NodeOf(s.Spec.Name) }), nil
}

// refill lets a node have units again. It does so when all nodes are in the network of the
// units again, where what comes to it can be called.
func (d *deployment) refill(ctx context.Context, n *private.Node) error {
	if err := d.cluster.Manager().SetAvailability(ctx, n.ID, engine.Active); err != nil {
		return err
	}
	d.mu.Lock()
	d.drained = slices.DeleteFunc(d.drained, func(other *private.Node) bool { return other == n })
	d.mu.Unlock()
	return private.Each(ctx, d.cluster.Nodes, d.cluster.AwaitPeers)
}

// refillAll undoes what drains have left that were not healed.
func (d *deployment) refillAll(ctx context.Context) error {
	d.mu.Lock()
	drained := slices.Clone(d.drained)
	d.mu.Unlock()
	var problems []error
	for _, n := range drained {
		problems = append(problems, d.refill(ctx, n))
	}
	return errors.Join(problems...)
}

// detour leads the ports at which processes of this host know a unit from the node where it
// was at first to the one where it is now, as the swarm's own ingress would.
type detour struct {
	from  *private.Node
	rules [][]string // of the packet filter, as iptables has them after -I or -D
}

// redirect leads to a unit that has moved whoever has its first addresses.
func (d *deployment) redirect(ctx context.Context, s *service) error {
	unit := s.Spec.Name
	d.mu.Lock()
	first, old := d.first[unit], d.detours[unit]
	delete(d.detours, unit)
	d.mu.Unlock()
	if err := old.change(ctx, "--delete"); err != nil || first == s.node {
		return err
	}
	made := detour{from: first}
	for i := range s.Spec.Endpoints() {
		port := strconv.Itoa(d.ports[unit].outside[1+i])
		made.rules = append(made.rules,
			[]string{"nat", "PREROUTING", "-p", "tcp", "-d", first.Address, "--dport", port, "-j", "DNAT",
				"--to-destination", net.JoinHostPort(s.node.Address, port)},
			[]string{"nat", "POSTROUTING", "-p", "tcp", "-d", s.node.Address, "--dport", port, "-j", "MASQUERADE"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-d", s.node.Address, "--dport", port, "-j", "ACCEPT"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-s", s.node.Address, "--sport", port, "-j", "ACCEPT"})
	}
	d.mu.Lock()
	d.detours[unit] = made
	d.mu.Unlock()
	return made.change(ctx, "--insert")
}

// change inserts or deletes the rules of a detour.
func (t detour) change(ctx context.Context, what string) error {
	for _, rule := range t.rules {
		args := append([]string{"--wait", "-t", rule[0], what}, rule[1:]...)
		if err := t.from.Run(ctx, "iptables", args...); err != nil {
			return err
		}
	}
	return nil
}

// straighten removes all detours: the next trial gives the ports to others.
func (d *deployment) straighten(ctx context.Context) error {
	d.mu.Lock()
	detours := slices.Collect(maps.Values(d.detours))
	clear(d.detours)
	d.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range detours {
		group.Go(func() error { return t.change(ctx, "--delete") })
	}
	return group.Wait()
}
