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

// nodes declares the faults and updates of the nodes. Swarm itself only stops the tasks of a node that it
// drains: services have the restart policy "none", so that faults last as long as the study says.
func (t *privateTrial) nodes() fleet.Nodes[*service] {
	return fleet.Nodes[*service]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut, Lost: t.isDown,
		Named: func(name string) fleet.Node {
			if n := t.cluster.Named(name); n != nil {
				return node{n, t}
			}
			return nil
		},
		// Workers refuse connections at the port of managers, which is an answer, too (hosts.Unreached).
		Probe: func(name string) string { return net.JoinHostPort(t.cluster.Named(name).Address, "2377") },
		Perished: func(ctx context.Context, s *service) error {
			s.HangUp()
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

// Boot implements fleet.Node. The node has lost its detours, with its network.
func (n node) Boot(ctx context.Context) error {
	if err := n.trial.cluster.Boot(ctx, n.Node); err != nil {
		return err
	}
	return n.trial.changeDetours(ctx, "--insert", n.Node)
}

// isDown reports whether the manager says that a node is down.
func (t *privateTrial) isDown(ctx context.Context, name string) (bool, error) {
	nodes, err := t.cluster.Manager().SwarmNodes(ctx)
	id := t.cluster.Named(name).ID
	return slices.ContainsFunc(nodes, func(one engine.SwarmNode) bool {
		return one.ID == id && one.Status.State == "down"
	}), err
}

// close drains a node, or makes it available again. Then it waits until all nodes without a fault are in the
// network of the units, so that units on this node can be called.
func (t *privateTrial) close(ctx context.Context, name string, closed bool) error {
	id := t.cluster.Named(name).ID
	if closed {
		return t.cluster.Manager().SetAvailability(ctx, id, engine.Drain)
	}
	if err := t.cluster.Manager().SetAvailability(ctx, id, engine.Active); err != nil {
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

// detour forwards the published ports of a unit from its first node, whose address processes of this host
// use, to its present node, as the ingress network of Swarm would.
type detour struct {
	from  *private.Node
	rules [][]string // for iptables: the table, then the arguments after --insert or --delete
}

// redirect forwards callers of a unit's first node to its present one, if the unit has moved.
func (t *privateTrial) redirect(ctx context.Context, s *service) error {
	unit, to := s.Spec.Name, t.life(s).node
	t.mu.Lock()
	first, old := t.first[unit], t.detours[unit]
	delete(t.detours, unit)
	t.mu.Unlock()
	if err := old.change(ctx, "--delete"); err != nil || first == to {
		return err
	}
	added := detour{from: first}
	for i := range s.Spec.Endpoints() {
		port := strconv.Itoa(t.ports[unit][1+i])
		added.rules = append(added.rules,
			[]string{"nat", "PREROUTING", "-p", "tcp", "-d", first.Address, "--dport", port, "-j", "DNAT",
				"--to-destination", net.JoinHostPort(to.Address, port)},
			[]string{"nat", "POSTROUTING", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "MASQUERADE"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "ACCEPT"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-s", to.Address, "--sport", port, "-j", "ACCEPT"})
	}
	t.mu.Lock()
	t.detours[unit] = added
	t.mu.Unlock()
	return added.change(ctx, "--insert")
}

// change applies a command of iptables, --insert or --delete, to all rules of a detour. A node that was
// killed has no rules: it gets them when it is booted.
func (d detour) change(ctx context.Context, command string) error {
	if d.from == nil || !d.from.Runs() {
		return nil
	}
	for _, rule := range d.rules {
		args := append([]string{"--wait", "-t", rule[0], command}, rule[1:]...)
		if err := d.from.Run(ctx, "iptables", args...); err != nil {
			return err
		}
	}
	return nil
}

// changeDetours applies a command of iptables to the rules of all detours from a node; nil: from any node.
func (t *privateTrial) changeDetours(ctx context.Context, command string, from *private.Node) error {
	t.mu.Lock()
	detours := slices.Collect(maps.Values(t.detours))
	t.mu.Unlock()
	detours = slices.DeleteFunc(detours, func(d detour) bool { return from != nil && d.from != from })
	return fleet.ForAll(ctx, atOnce, detours, func(ctx context.Context, d detour) error {
		return d.change(ctx, command)
	})
}
