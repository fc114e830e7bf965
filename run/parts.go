package run

import (
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// parts returns the parts of a layout's architecture: one for the units of each role, with the nodes that
// they run on, and one for each service.
func (s Services) parts(layout lab.Layout, deployment lab.Deployment) []lab.Part {
	roles := map[string]string{} // by name of unit
	for _, unit := range layout.Units {
		roles[unit.Name] = unit.Role
	}
	var all []lab.Part
	for _, unit := range layout.Units {
		i := slices.IndexFunc(all, func(p lab.Part) bool { return p.Name == unit.Role })
		if i < 0 {
			i = len(all)
			all = append(all, lab.Part{Name: unit.Role})
		}
		part := &all[i]
		part.Units++
		node := deployment.NodeOf(unit.Name)
		if node != "" && !slices.Contains(strings.Split(part.Node, ", "), node) {
			part.Node = strings.TrimPrefix(part.Node+", "+node, ", ")
		}
		for _, use := range usesOf(unit, layout) {
			to := use.To
			if role, isUnit := roles[to]; isUnit {
				to = role
			}
			if !slices.ContainsFunc(part.Links, func(l lab.Link) bool { return l.To == to }) {
				part.Links = append(part.Links, lab.Link{To: to, How: use.How})
			}
		}
	}
	for _, spec := range layout.Services {
		server := s[spec.Name].Server
		part := lab.Part{Name: spec.Name, Service: spec.Kind, Embedded: server == nil && !spec.Loopback}
		if server != nil {
			part.Units = 1
			part.Node = deployment.NodeOf(server.Name)
		}
		all = append(all, part)
	}
	return all
}

// usesOf returns the units and services that a unit uses. If the unit does not declare them, these are its
// peers and, unless it is foreign, all services.
func usesOf(unit lab.UnitSpec, layout lab.Layout) []lab.Use {
	if unit.Uses != nil {
		return unit.Uses
	}
	var all []lab.Use
	for _, peer := range unit.Peers {
		all = append(all, lab.Use{To: peer})
	}
	if !unit.Foreign {
		for _, spec := range layout.Services {
			all = append(all, lab.Use{To: spec.Name})
		}
	}
	return all
}

// withTraffic adds traffic, as averages per operation, to the links of the parts. It adds links that the
// layout does not declare, and ignores traffic from an unknown part.
func withTraffic(parts []lab.Part, traffic []lab.Traffic) {
	for _, t := range traffic {
		i := slices.IndexFunc(parts, func(p lab.Part) bool { return p.Name == t.From })
		if i < 0 {
			continue
		}
		j := slices.IndexFunc(parts[i].Links, func(l lab.Link) bool { return l.To == t.To })
		if j < 0 && t.PerOperation == 0 {
			continue // a unit may hold clients that it never uses
		}
		if j < 0 {
			j = len(parts[i].Links)
			parts[i].Links = append(parts[i].Links, lab.Link{To: t.To})
		}
		link := &parts[i].Links[j]
		if link.Traffic == nil {
			link.Traffic = map[string]float64{}
		}
		link.Traffic[t.What] += t.PerOperation
	}
}
