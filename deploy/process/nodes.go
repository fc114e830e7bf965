package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
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

// nodesOf returns the nodes that a layout names.
func nodesOf(layout lab.Layout) (names []string) {
	for _, spec := range slices.Concat(layout.Units, layout.Prepare) {
		if spec.Node != "" && !slices.Contains(names, spec.Node) {
			names = append(names, spec.Node)
		}
	}
	return names
}

// checkNodes says what this host lacks for the nodes of a layout.
func checkNodes(layout lab.Layout) error {
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

// nodeFaults returns what can be done to a host that a layout names.
func nodeFaults() []lab.FaultKind { return []lab.FaultKind{lab.FaultCut, lab.FaultKill} }

// nodesToHarm returns the hosts that a layout names, and those that keep its replicated disk.
func nodesToHarm(layout lab.Layout) []lab.Node {
	all := lab.Nodes(nodesOf(layout), nodeFaults()...)
	if layout.OnReplicatedDisk() {
		all = append(all, lab.Nodes(gluster.Bricks(), lab.FaultKill, lab.FaultRestart)...)
	}
	return all
}

// nodes returns what is done to the hosts that a layout names. Their links, their first processes and the
// units on them are all that they have.
func (d *deployment) nodes() fleet.Nodes[*unit] {
	return fleet.Nodes[*unit]{
		Faults: nodeFaults(),
		Named: func(name string) fleet.Node {
			if host := d.network.named(name); host != nil {
				return host
			}
			return nil
		},
		Probe: func(name string) string { return net.JoinHostPort(d.network.named(name).Address, "9") },
		Perished: func(ctx context.Context, u *unit) error {
			_, err := u.Kill(ctx)
			return err
		},
	}
}

// seenBy returns the endpoints as a unit has them.
func (d *deployment) seenBy(spec lab.UnitSpec) map[string]lab.Endpoint {
	return d.Wanted.SeenBy(spec, d.Endpoints, func(unit string) string { return d.Endpoints[unit].Bind })
}
