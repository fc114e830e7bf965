package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// link sets the links of hosts in the layout. It returns an error for a host without units, or a negative
// value.
func (v Variant) link(l *Layout) error {
	for _, host := range slices.Sorted(maps.Keys(v.Hosts)) {
		if !slices.ContainsFunc(l.Units, func(u UnitSpec) bool { return u.Node == host }) {
			// Deployers check links before they know which services have a server.
			if slices.ContainsFunc(l.Services, func(s ServiceSpec) bool { return s.Node == host }) {
				return fmt.Errorf("hosts: only backing services are on %s (nodes), and its link cannot be changed: "+
					"place a unit there, or leave out the link", host)
			}
			return fmt.Errorf("hosts: no unit of this variant is on %s (nodes)", host)
		}
		if link := v.Hosts[host]; link.Delay < 0 || link.Rate < 0 {
			return fmt.Errorf("hosts: the link of %s has the delay %g s and the rate %g bytes per second: neither "+
				"can be negative", host, link.Delay, link.Rate)
		}
	}
	l.Links = v.Hosts
	return nil
}

// checkLinks returns an error if the variant shapes links of hosts and the deployer cannot do that.
func (v Variant) checkLinks(d Deployer) error {
	if len(v.Hosts) == 0 {
		return nil
	}
	if whyNot := d.Can().Links; whyNot != nil {
		return whyNot()
	}
	return fmt.Errorf("hosts: the links of %s are not ours to change with the deployment %s: use %s, or the "+
		"private %s or %s, or leave them out",
		strings.Join(slices.Sorted(maps.Keys(v.Hosts)), ", "), v.Deployment, Process, Swarm, Kubernetes)
}
