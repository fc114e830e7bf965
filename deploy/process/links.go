package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

var _ lab.Linked = (*deployment)(nil)

// links are those of hosts that a layout wants otherwise than they are.
type links struct {
	of     map[string]lab.Network
	late   map[string]string // hosts with a delay, by the units on them that listen
	proofs map[string]string // how probes have found the links, by host
}

func wantedLinks(layout lab.Layout) links {
	l := links{of: layout.Links, late: map[string]string{}, proofs: map[string]string{}}
	for _, spec := range layout.Units {
		if spec.Listens && layout.Links[spec.Node].Delay > 0 {
			l.late[spec.Name] = spec.Node
		}
	}
	return l
}

// checkLinks refuses links that cannot be made.
func checkLinks(layout lab.Layout) error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf("hosts: "+format, args...)) }
	l := wantedLinks(layout)
	reached := slices.Collect(maps.Values(l.late))
	for _, host := range slices.Sorted(maps.Keys(l.of)) {
		link := l.of[host]
		if link.Delay > 0 && !slices.Contains(reached, host) {
			refuse("nobody calls a unit on %s, so that its delay would do nothing: give it to a host that is called", host)
		}
		if link.Rate > 0 && link.Rate < hosts.LeastRate {
			refuse("the rate of %s is %g bytes per second: use %g or more", host, link.Rate, float64(hosts.LeastRate))
		}
	}
	for _, spec := range layout.Units {
		switch host := l.late[spec.Name]; {
		case host == "":
		case len(spec.Ports) > 0 || spec.Floats != "":
			refuse("unit %s on %s listens at more than its own address, and only there things can be delayed: leave out the delay", spec.Name, host)
		case slices.Contains(spec.Faults, lab.FaultSlow):
			refuse("unit %s on %s is called late already, and shall be slowed by a fault: leave out one of them", spec.Name, host)
		}
	}
	return errors.Join(problems...)
}

// relayed are the units of a layout, those that are called late among those to be slowed.
func (l links) relayed(units []lab.UnitSpec) []lab.UnitSpec {
	units = slices.Clone(units)
	for i := range units {
		if l.late[units[i].Name] != "" {
			units[i].Faults = append(slices.Clone(units[i].Faults), lab.FaultSlow)
		}
	}
	return units
}

// link makes the links of hosts what they shall be, and has probes prove it.
func (d *deployment) link(ctx context.Context) error {
	for host, link := range d.links.of {
		if link.Rate == 0 {
			continue
		}
		made := d.network.named(host)
		err := made.Limit(ctx, link.Rate)
		if err == nil {
			d.links.proofs[host], err = made.ProbeRate(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(d.links.late)) {
		host := d.links.late[unit]
		proof, err := d.relays.Slow(ctx, lab.Fault{Target: unit, Kind: lab.FaultSlow, Delay: d.links.of[host].Delay})
		if err != nil {
			return err
		}
		if before := d.links.proofs[host]; before != "" {
			proof = before + "; " + proof
		}
		d.links.proofs[host] = proof
	}
	return nil
}

// Links implements lab.Linked.
func (d *deployment) Links() map[string]string { return d.links.proofs }

// seenBy are the endpoints as a unit has them: no delay is between units of one host.
func (d *deployment) seenBy(spec lab.UnitSpec) map[string]lab.Endpoint {
	if len(d.links.late) == 0 { // hundreds of units are not to copy those of all
		return d.endpoints
	}
	seen := maps.Clone(d.endpoints)
	for unit, host := range d.links.late {
		if host == spec.Node {
			seen[unit] = lab.Endpoint{Bind: seen[unit].Bind, Dial: seen[unit].Bind}
		}
	}
	return seen
}
