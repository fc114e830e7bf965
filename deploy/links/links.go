// Package links shapes the links of hosts that Cleave has made, as a layout wants it
// (lab.Layout.Links): a rate by the kernel, a delay by a relay before every unit there that
// listens. Probes prove both before the load.
//
// It makes neither hosts nor relays, and starts no units.
//
// Entry points: Check, Of, Wanted.Make.
package links

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Wanted holds the links that a layout changes.
type Wanted struct {
	byHost  map[string]lab.Network
	late    map[string]string // hosts with a delay, by the units on them that listen
	proofs  map[string]string // by host
	limited []*hosts.Host     // with a rate
}

// Of returns the links, by host, that a layout with these units changes.
func Of(links map[string]lab.Network, units []lab.UnitSpec) *Wanted {
	w := &Wanted{byHost: links, late: map[string]string{}, proofs: map[string]string{}}
	for _, spec := range units {
		if spec.Listens && links[spec.Node].Delay > 0 {
			w.late[spec.Name] = spec.Node
		}
	}
	return w
}

// Check refuses links that cannot be made.
func Check(links map[string]lab.Network, units []lab.UnitSpec) error {
	var problems []error
	refuse := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("hosts: "+format, args...))
	}
	w := Of(links, units)
	reached := slices.Collect(maps.Values(w.late))
	for _, host := range slices.Sorted(maps.Keys(links)) {
		link := links[host]
		if link.Delay > 0 && !slices.Contains(reached, host) {
			refuse("nobody calls a unit on %s, so that its delay would do nothing: give it to a host that is called",
				host)
		}
		if link.Rate > 0 && link.Rate < hosts.LeastRate {
			refuse("the rate of %s is %g bytes per second: use %g or more", host, link.Rate, float64(hosts.LeastRate))
		}
	}
	for _, spec := range units {
		switch host := w.late[spec.Name]; {
		case host == "":
		case len(spec.Ports) > 0, spec.Floats != "", spec.Reached == lab.ReachPublished:
			refuse("unit %s on %s listens at more than its own address, and only requests to that can be delayed: "+
				"leave out the delay", spec.Name, host)
		case spec.Autoscale != nil:
			refuse("the platform adds replicas of unit %s on %s, and requests to these cannot be delayed: leave out "+
				"the delay", spec.Name, host)
		case slices.Contains(spec.Faults, lab.FaultSlow):
			refuse("unit %s on %s is called late already, and shall be slowed by a fault: leave out one of them",
				spec.Name, host)
		}
	}
	return errors.Join(problems...)
}

// Any reports whether the layout changes a link.
func (w *Wanted) Any() bool { return len(w.byHost) > 0 }

// Relayed returns the units of a layout. Those on hosts with a delay have the fault slow, too, for which a
// relay is made.
func (w *Wanted) Relayed(units []lab.UnitSpec) []lab.UnitSpec {
	units = slices.Clone(units)
	for i := range units {
		if w.late[units[i].Name] != "" {
			units[i].Faults = append(slices.Clone(units[i].Faults), lab.FaultSlow)
		}
	}
	return units
}

// Make sets the rates and delays of the links, and probes them. named returns the host of a name;
// relays holds the relays of the units that Relayed has marked.
func (w *Wanted) Make(ctx context.Context, named func(string) *hosts.Host, relays relay.Relays) error {
	for name, link := range w.byHost {
		if link.Rate == 0 {
			continue
		}
		host := named(name)
		w.limited = append(w.limited, host)
		err := host.Limit(ctx, link.Rate)
		if err == nil {
			w.proofs[name], err = host.ProbeRate(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(w.late)) {
		host := w.late[unit]
		proof, err := relays.Slow(ctx, lab.Fault{Target: unit, Kind: lab.FaultSlow, Delay: w.byHost[host].Delay})
		if err != nil {
			return err
		}
		if before := w.proofs[host]; before != "" {
			proof = before + "; " + proof
		}
		w.proofs[host] = proof
	}
	return nil
}

// Lift removes the rates of the links, for hosts that stay after the trial.
func (w *Wanted) Lift(ctx context.Context) error {
	var problems []error
	for _, host := range w.limited {
		problems = append(problems, host.Limit(ctx, 0))
	}
	w.limited = nil
	return errors.Join(problems...)
}

// Proofs returns the results of the probes, by host.
func (w *Wanted) Proofs() map[string]string { return w.proofs }

// SeenBy returns the endpoints at which a unit calls the others: those of its own host without the relay,
// at the addresses that own returns, and so without a delay.
func (w *Wanted) SeenBy(
	spec lab.UnitSpec, endpoints map[string]lab.Endpoint, own func(unit string) string,
) map[string]lab.Endpoint {
	if len(w.late) == 0 { // no copy for each of hundreds of units
		return endpoints
	}
	seen := maps.Clone(endpoints)
	for unit, host := range w.late {
		if host == spec.Node {
			seen[unit] = lab.Endpoint{Bind: seen[unit].Bind, Dial: own(unit)}
		}
	}
	return seen
}
