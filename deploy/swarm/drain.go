package swarm

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// nodes returns what is done to the nodes of the swarm. The swarm itself only stops what is on one that it
// empties: services say that nothing starts again by itself, or faults would not last as long as a study
// says.
func (t *ownTrial) nodes() fleet.Nodes[*service] {
	return fleet.Nodes[*service]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut, Lost: t.isDown,
		Named: func(name string) fleet.Node {
			if n := t.cluster.Named(name); n != nil {
				return node{n, t.cluster}
			}
			return nil
		},
		Probe: func(name string) string { return net.JoinHostPort(t.cluster.Named(name).Address, "2377") },
		Perished: func(ctx context.Context, s *service) error {
			s.HangUp()
			return s.AwaitEnd(ctx)
		},
		Close:      t.close,
		Evict:      func(ctx context.Context, s *service) error { return s.AwaitEnd(ctx) },
		AwaitEmpty: t.isEmpty,
	}
}

// node is one of the swarm, to which faults are done.
type node struct {
	*private.Node
	cluster *private.Cluster
}

// Boot implements fleet.Node.
func (n node) Boot(ctx context.Context) error { return n.cluster.Boot(ctx, n.Node) }

// isDown reports whether the manager says that a node is down.
func (t *ownTrial) isDown(ctx context.Context, name string) (bool, error) {
	nodes, err := t.cluster.Manager().SwarmNodes(ctx)
	id := t.cluster.Named(name).ID
	return slices.ContainsFunc(nodes, func(one engine.SwarmNode) bool {
		return one.ID == id && one.Status.State == "down"
	}), err
}

// close has the swarm empty a node, or lets it have units again: then all nodes are in the network of the
// units, where what comes there can be called.
func (t *ownTrial) close(ctx context.Context, name string, closed bool) error {
	id := t.cluster.Named(name).ID
	if closed {
		return t.cluster.Manager().SetAvailability(ctx, id, engine.Drain)
	}
	if err := t.cluster.Manager().SetAvailability(ctx, id, engine.Active); err != nil {
		return err
	}
	return private.Each(ctx, t.cluster.Nodes, t.cluster.AwaitPeers)
}

// isEmpty proves by the daemon of a node that no unit of the trial runs there any more.
func (t *ownTrial) isEmpty(ctx context.Context, name string) error {
	n := t.cluster.Named(name)
	things, err := n.Units(ctx)
	if err != nil {
		return err
	}
	for _, thing := range things {
		state, err := n.Engine.State(ctx, thing.ID)
		if err != nil {
			return err
		}
		if state.Pid != 0 {
			return fmt.Errorf("%s still runs the container %.12s, which is %s", n.Name, thing.ID, state.Status)
		}
	}
	return nil
}

// detour leads the ports at which processes of this host know a unit from the node where it
// was at first to the one where it is now, as the swarm's own ingress would.
type detour struct {
	from  *private.Node
	rules [][]string // of the packet filter, as iptables has them after -I or -D
}

// redirect leads to a unit that has moved whoever has its first addresses.
func (t *ownTrial) redirect(ctx context.Context, s *service) error {
	unit, to := s.Spec.Name, t.life(s).node
	t.mu.Lock()
	first, old := t.first[unit], t.detours[unit]
	delete(t.detours, unit)
	t.mu.Unlock()
	if err := old.change(ctx, "--delete"); err != nil || first == to {
		return err
	}
	made := detour{from: first}
	for i := range s.Spec.Endpoints() {
		port := strconv.Itoa(t.ports[unit][1+i])
		made.rules = append(made.rules,
			[]string{"nat", "PREROUTING", "-p", "tcp", "-d", first.Address, "--dport", port, "-j", "DNAT",
				"--to-destination", net.JoinHostPort(to.Address, port)},
			[]string{"nat", "POSTROUTING", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "MASQUERADE"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "ACCEPT"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-s", to.Address, "--sport", port, "-j", "ACCEPT"})
	}
	t.mu.Lock()
	t.detours[unit] = made
	t.mu.Unlock()
	return made.change(ctx, "--insert")
}

// change inserts or deletes the rules of a detour.
func (d detour) change(ctx context.Context, what string) error {
	for _, rule := range d.rules {
		args := append([]string{"--wait", "-t", rule[0], what}, rule[1:]...)
		if err := d.from.Run(ctx, "iptables", args...); err != nil {
			return err
		}
	}
	return nil
}

// straighten removes all detours: the next trial gives the ports to others.
func (t *ownTrial) straighten(ctx context.Context) error {
	t.mu.Lock()
	detours := slices.Collect(maps.Values(t.detours))
	clear(t.detours)
	t.mu.Unlock()
	return fleet.ForAll(ctx, atOnce, detours, func(ctx context.Context, d detour) error {
		return d.change(ctx, "--delete")
	})
}
