package swarm

import (
	"context"
	"errors"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// detour forwards the published ports of a unit from its first node, whose address processes of this host
// use, to its present node, as the ingress network of Swarm would.
type detour struct {
	from  *private.Node
	rules [][]string // for iptables: the table, then the arguments after a command such as --insert
}

// lacksRule is the exit status of iptables --check if there is no such rule.
const lacksRule = 1

// set adds the rules that the first node lacks, or removes those that it has. A node that does not run has
// none, and gets them when it is booted.
func (d *detour) set(ctx context.Context, on bool) error {
	if !d.from.Runs() {
		return nil
	}
	change := "--delete"
	if on {
		change = "--insert"
	}
	for _, rule := range d.rules {
		run := func(command string) error {
			return d.from.Run(ctx, "iptables", append([]string{"--wait", "-t", rule[0], command}, rule[1:]...)...)
		}
		err := run("--check")
		has := err == nil
		if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == lacksRule {
			err = nil
		}
		if err == nil && has != on {
			err = run(change)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redirect forwards callers of a unit's first node to its present one, if the unit has moved.
func (t *privateTrial) redirect(ctx context.Context, s *service) error {
	unit := s.Spec.Name
	to := t.life(s).node
	t.mu.Lock()
	first := t.first[unit]
	t.mu.Unlock()
	t.detouring.Lock()
	defer t.detouring.Unlock()
	if old := t.detours[unit]; old != nil {
		delete(t.detours, unit)
		if err := old.set(ctx, false); err != nil {
			return err
		}
	}
	if first == to {
		return nil
	}
	added := &detour{from: first}
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
	return added.set(ctx, true)
}

// restoreDetours gives a node that was booted the rules of its detours.
func (t *privateTrial) restoreDetours(ctx context.Context, from *private.Node) error {
	t.detouring.Lock()
	defer t.detouring.Unlock()
	for _, d := range t.detours {
		if d.from == from {
			if err := d.set(ctx, true); err != nil {
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
	return fleet.ForAll(ctx, atOnce, all,
		func(ctx context.Context, d *detour) error { return d.set(ctx, false) })
}
