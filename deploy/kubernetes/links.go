package kubernetes

import (
	"context"
	"errors"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// host returns the host of the node which a node of the layout is.
func (d *deployment) host(name string) *hosts.Host { return d.cluster.Named(d.placed[name]).Host }

// trialOf returns the trial as a unit sees it.
func (d *deployment) trialOf(spec lab.UnitSpec) containers.Trial {
	seen := d.shared()
	seen.Endpoints = d.Wanted.SeenBy(spec, d.Endpoints,
		func(unit string) string { return d.Relays.Behind(unit, "") })
	return seen
}

// leadTo has this host reach the service of a unit through the unit's own node, where links are
// changed: all others it reaches through the first node, whose link would be before that of theirs.
func (d *deployment) leadTo(ctx context.Context, spec lab.UnitSpec, address string) error {
	if !d.Wanted.Any() {
		return nil
	}
	if err := d.cluster.private.Hosts.RouteTo(ctx, address, d.cluster.Named(d.wanted(spec)).Host); err != nil {
		return err
	}
	d.led = append(d.led, address)
	return nil
}

// lift leaves the links as they were.
func (d *deployment) lift() error {
	err := d.Wanted.Lift(d.Watching)
	for _, address := range d.led {
		err = errors.Join(err, d.cluster.private.Hosts.RouteTo(d.Watching, address, nil))
	}
	return err
}
