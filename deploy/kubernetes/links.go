package kubernetes

import (
	"context"
	"errors"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

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
