package swarm

import (
	"context"
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
)

// nodes returns what is done to the nodes of the swarm. The swarm itself only stops what is on one that it
// empties: services say that nothing starts again by itself, or faults would not last as long as a study
// says.
func (d *deployment) nodes() fleet.Nodes[*service] {
	return fleet.Nodes[*service]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut, Lost: d.isDown,
		Named: func(name string) fleet.Node {
			if n := d.cluster.Named(name); n != nil {
				return node{n, d.cluster}
			}
			return nil
		},
		Probe: func(name string) string { return net.JoinHostPort(d.cluster.Named(name).Address, "2377") },
		Perished: func(ctx context.Context, s *service) error {
			s.HangUp()
			return s.AwaitEnd(ctx)
		},
		Close:      d.close,
		Evict:      func(ctx context.Context, s *service) error { return s.AwaitEnd(ctx) },
		AwaitEmpty: d.isEmpty,
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
func (d *deployment) isDown(ctx context.Context, name string) (bool, error) {
	nodes, err := d.cluster.Manager().SwarmNodes(ctx)
	id := d.cluster.Named(name).ID
	return slices.ContainsFunc(nodes, func(one engine.SwarmNode) bool {
		return one.ID == id && one.Status.State == "down"
	}), err
}

// close has the swarm empty a node, or lets it have units again: then all nodes are in the network of the
// units, where what comes there can be called.
func (d *deployment) close(ctx context.Context, name string, closed bool) error {
	id := d.cluster.Named(name).ID
	if closed {
		return d.cluster.Manager().SetAvailability(ctx, id, engine.Drain)
	}
	if err := d.cluster.Manager().SetAvailability(ctx, id, engine.Active); err != nil {
		return err
	}
	return private.Each(ctx, d.cluster.Nodes, d.cluster.AwaitPeers)
}

// isEmpty proves by the daemon of a node that no unit of the trial runs there any more.
func (d *deployment) isEmpty(ctx context.Context, name string) error {
	n := d.cluster.Named(name)
	things, err := n.Units(ctx)
	if err != nil {
		return err
	}
	for _, thing := range things {
		state, err := n.Engine.Inspect(ctx, thing.ID)
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
