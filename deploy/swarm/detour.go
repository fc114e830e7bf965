package swarm

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// detour forwards the published ports of a unit from its first node, whose address processes of this host
// use, to its present node, as the ingress network of Swarm would.
type detour struct {
	from  *private.Node
	rules [][]string // for iptables: the table, then the arguments after --insert or --delete
	kills int32      // how often from had been killed when it got the rules, or noRules
}

// noRules is the value of detour.kills while the node does not have the rules.
const noRules = -1

// add gives the first node the rules, unless it has them. A node that does not run gets them when it is
// booted.
func (d *detour) add(ctx context.Context) error {
	kills := d.from.Kills()
	if d.kills == kills || !d.from.Runs() {
		return nil
	}
	d.kills = kills
	return d.change(ctx, "--insert")
}

// remove removes the rules from the first node, unless it never had them, or lost them when it was killed.
func (d *detour) remove(ctx context.Context) error {
	if d.kills != d.from.Kills() {
		return nil
	}
	d.kills = noRules
	return d.change(ctx, "--delete")
}

// change applies a command of iptables, --insert or --delete, to all rules.
func (d *detour) change(ctx context.Context, command string) error {
	for _, rule := range d.rules {
		args := append([]string{"--wait", "-t", rule[0], command}, rule[1:]...)
		if err := d.from.Run(ctx, "iptables", args...); err != nil {
			return err
		}
	}
	return nil
}

// redirect forwards callers of a unit's first node to its present one, if the unit has moved.
func (t *privateTrial) redirect(ctx context.Context, s *service) error {
	unit, to := s.Spec.Name, t.life(s).node
	t.mu.Lock()
	first := t.first[unit]
	t.mu.Unlock()
	t.detouring.Lock()
	defer t.detouring.Unlock()
	if old := t.detours[unit]; old != nil {
		delete(t.detours, unit)
		if err := old.remove(ctx); err != nil {
			return err
		}
	}
	if first == to {
		return nil
	}
	added := &detour{from: first, kills: noRules}
	for i := range s.Spec.Endpoints() {
		port := strconv.Itoa(t.ports[unit][1+i]) // the control port, which only the conductor calls, is the first
		added.rules = append(added.rules,
			[]string{"nat", "PREROUTING", "-p", "tcp", "-d", first.Address, "--dport", port, "-j", "DNAT",
				"--to-destination", net.JoinHostPort(to.Address, port)},
			[]string{"nat", "POSTROUTING", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "MASQUERADE"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-d", to.Address, "--dport", port, "-j", "ACCEPT"},
			[]string{"filter", "FORWARD", "-p", "tcp", "-s", to.Address, "--sport", port, "-j", "ACCEPT"})
	}
	t.detours[unit] = added
	return added.add(ctx)
}

// restoreDetours gives a node that was booted the rules of its detours.
func (t *privateTrial) restoreDetours(ctx context.Context, from *private.Node) error {
	t.detouring.Lock()
	defer t.detouring.Unlock()
	for _, d := range t.detours {
		if d.from == from {
			if err := d.add(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeDetours removes the rules of all detours.
func (t *privateTrial) removeDetours(ctx context.Context) error {
	t.detouring.Lock()
	defer t.detouring.Unlock()
	all := slices.Collect(maps.Values(t.detours))
	return fleet.ForAll(ctx, atOnce, all, func(ctx context.Context, d *detour) error { return d.remove(ctx) })
}
