package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// network is the hosts that the units of a layout are on, made of this one, each with an
// address and a network card of its own; nil where the layout names none. Their processes
// and files are this host's, as those of all other units.
type network struct {
	set      *hosts.Set
	floating int // addresses that were given out
}

var (
	_ lab.Clustered = (*Deployer)(nil)
	_ lab.Placed    = (*deployment)(nil)
)

// nodesOf returns the nodes that a layout names.
func nodesOf(layout lab.Layout) (names []string) {
	for _, spec := range slices.Concat(layout.Units, layout.Prepare) {
		if spec.Node != "" && !slices.Contains(names, spec.Node) {
			names = append(names, spec.Node)
		}
	}
	return names
}

// CheckNodes says what this host lacks for the nodes of a layout.
func CheckNodes(layout lab.Layout) error {
	names := nodesOf(layout)
	if len(names) == 0 {
		return nil
	}
	err := hosts.Missing()
	if err != nil {
		err = fmt.Errorf("units are on %s: %w", strings.Join(names, ", "), err)
	}
	return errors.Join(err, containers.CheckServices(layout.Services, "process and without nodes"))
}

// makeNetwork makes the hosts that a layout names.
func makeNetwork(ctx context.Context, label string, layout lab.Layout) (*network, error) {
	names := nodesOf(layout)
	if len(names) == 0 {
		return nil, nil
	}
	set, err := hosts.Make(ctx, label, names...)
	if err != nil {
		return nil, err
	}
	return &network{set: set}, nil
}

// addressOf returns where units listen that are on a node; none is this host.
func (n *network) addressOf(node string) string {
	if n == nil {
		return launch.LoopbackHost
	}
	if host := n.named(node); host != nil {
		return host.Address
	}
	return n.set.Here()
}

// float returns an address that no host has by itself yet.
func (n *network) float() string {
	n.floating++
	return n.set.Floating(n.floating - 1)
}

// named is nil where there is no such host.
func (n *network) named(node string) *hosts.Host {
	if n == nil {
		return nil
	}
	if i := slices.IndexFunc(n.set.Hosts(), func(h *hosts.Host) bool { return h.Name == node }); i >= 0 {
		return n.set.Hosts()[i]
	}
	return nil
}

func (n *network) close() error {
	if n == nil {
		return nil
	}
	return n.set.Close()
}

// Nodes implements lab.Clustered: those that the layout names, and those that keep its
// replicated disk.
func (d *Deployer) Nodes(layout lab.Layout) []lab.Node {
	all := lab.Nodes(nodesOf(layout), lab.FaultCut, lab.FaultKill)
	if layout.OnReplicatedDisk() {
		all = append(all, lab.Nodes(gluster.Bricks(), lab.FaultKill, lab.FaultRestart)...)
	}
	return all
}

// NodeOf implements lab.Placed.
func (d *deployment) NodeOf(unit string) string {
	if u := d.Named(unit); u != nil {
		return u.Spec.Node
	}
	return ""
}

// on returns the units on a node.
func (d *deployment) on(node string) []*unit {
	return slices.DeleteFunc(d.All(), func(u *unit) bool { return u.Spec.Node != node })
}

// harmNode cuts a host off with all that is on it, or ends it as a power cut does: it loses
// its link first, so that nobody is told that its connections are gone.
func (d *deployment) harmNode(ctx context.Context, f lab.Fault, host *hosts.Host) (proof string, err error) {
	if f.Kind == lab.FaultCut {
		if err := host.Link(ctx, false); err != nil {
			return "", err
		}
		return hosts.Unreached(net.JoinHostPort(host.Address, "9"))
	}
	units := d.on(f.Target)
	if slices.ContainsFunc(units, func(u *unit) bool { return u.Spec.Name == d.lead }) {
		return "", fmt.Errorf("unit %s, which leads the trial, is on %s", d.lead, f.Target)
	}
	for _, u := range units {
		if err := d.Doom(u.Unit); err != nil {
			return "", err
		}
	}
	if err := host.Kill(ctx); err != nil {
		return "", err
	}
	var proofs []string
	for _, u := range units {
		proof, err := u.killAll()
		if err != nil {
			return "", err
		}
		proofs = append(proofs, u.Spec.Name+": "+proof)
	}
	return strings.Join(proofs, "; "), nil
}

// healNode returns when the units of the host are reached again.
func (d *deployment) healNode(ctx context.Context, f lab.Fault, host *hosts.Host) error {
	if f.Kind == lab.FaultCut {
		if err := host.Link(ctx, true); err != nil {
			return err
		}
	} else if err := host.Boot(ctx); err != nil {
		return err
	}
	for _, u := range d.on(f.Target) {
		if f.Kind.Ends() {
			if err := d.startAgain(ctx, u.Spec.Name); err != nil {
				return err
			}
		}
		if u.Spec.Listens {
			now := d.Named(u.Spec.Name) // started again, it is another
			if err := now.AwaitListening(ctx, d.endpoints[u.Spec.Name].Bind, listenPatience); err != nil {
				return fmt.Errorf("node %s: %w", f.Target, err)
			}
		}
	}
	return nil
}
