package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// nodes declares what the fleet can do to the nodes of a private cluster: faults, and drains. A node is
// drained as `kubectl drain` does it, by evictions. No controller makes the evicted pods again, so the fleet
// does.
func (d *deployment) nodes() fleet.Nodes[*pod] {
	named := d.cluster.Named
	return fleet.Nodes[*pod]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut,
		Named: func(name string) fleet.Node {
			if n := named(name); n != nil {
				return n
			}
			return nil // and not a nil *private.Node, which would be no nil fleet.Node
		},
		Probe: func(name string) string { return named(name).KubeletAddress() },
		Lost:  func(ctx context.Context, name string) (bool, error) { return named(name).Lost(ctx) },
		Perished: func(ctx context.Context, p *pod) error {
			p.HangUp()
			return gone(ctx, p)
		},
		Close: func(ctx context.Context, name string, closed bool) error { return named(name).Cordon(ctx, closed) },
		Evict: func(ctx context.Context, p *pod) error { return p.leave(ctx, p.evict) },
		AwaitEmpty: func(ctx context.Context, name string) error {
			ctx, cancel := context.WithTimeoutCause(ctx, removePatience, fmt.Errorf("not so after %v", removePatience))
			defer cancel()
			return named(name).AwaitEmpty(ctx)
		},
	}
}

// nodeOf returns the name of a pod's node. The mutex guards it, as the autoscaler may be adding the pod.
func (d *deployment) nodeOf(p *pod) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.nodeName
}

// host returns the simulated host that runs a node of the layout.
func (d *deployment) host(name string) *hosts.Host { return d.cluster.Named(d.placed[name]).Host }

// trialOf returns the trial as a unit sees it: calls over links that the layout delays go through a relay.
func (d *deployment) trialOf(spec lab.UnitSpec) containers.Trial {
	seen := d.shared()
	seen.Endpoints = d.Wanted.SeenBy(spec, d.Endpoints,
		func(unit string) string { return d.Relays.UnitAddress(unit, "") })
	return seen
}

// routeViaNode routes a service's address through the node of its unit, if the layout changes links. This
// host reaches services through the first node otherwise, and the changed link of that node would slow all of
// them.
func (d *deployment) routeViaNode(ctx context.Context, spec lab.UnitSpec, address string) error {
	if !d.Wanted.Any() {
		return nil
	}
	if err := d.cluster.private.Hosts.RouteTo(ctx, address, d.cluster.Named(d.nodeFor(spec)).Host); err != nil {
		return err
	}
	d.routed = append(d.routed, address)
	return nil
}

// restoreLinks restores the links of the nodes, and the routes to services.
func (d *deployment) restoreLinks() error {
	err := d.Wanted.Lift(d.Watching)
	for _, address := range d.routed {
		err = errors.Join(err, d.cluster.private.Hosts.RouteTo(d.Watching, address, nil))
	}
	return err
}
