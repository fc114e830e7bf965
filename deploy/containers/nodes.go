package containers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// NodeFaults returns the faults that can be done to nodes of private clusters.
func NodeFaults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultCut, lab.FaultKill, lab.FaultDrain}
}

// LongestCut bounds how long a node of a private cluster can be cut off: units that hear nothing of their
// conductor for longer end (unit.Lease). No private cluster evicts the units of a node sooner.
const LongestCut = 30 * time.Second

// Faults returns the faults that can be done to units of private clusters.
func Faults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut, lab.FaultSlow,
		lab.FaultFill, lab.FaultUpdate}
}

// Nodes returns the nodes of a cluster to which faults can be done, with the units that a layout places
// there. These are all nodes except the first: it is the manager of a private swarm, and this host reaches
// the services of a private Kubernetes cluster through it.
func Nodes(layout lab.Layout, names []string) []lab.Node {
	servers, contained, _ := Split(layout)
	specs := slices.Concat(servers, contained, layout.Prepare)
	places, _ := Places(names, specs, layout.Links) // Preflight reports the error
	nodes := lab.Nodes(names[1:], NodeFaults()...)
	for i := range nodes {
		for _, spec := range specs {
			if places[spec.Node] == nodes[i].Name {
				nodes[i].Pinned = append(nodes[i].Pinned, spec.Name)
			}
		}
	}
	return nodes
}

// Places maps the nodes that a layout names to nodes of a cluster: to the one of that name, or else to a
// free one. If the layout changes links, it maps "", for units without a node, to a node whose link is not
// changed. It fails if there are too few nodes.
func Places(names []string, specs []lab.UnitSpec, links map[string]lab.Network) (map[string]string, error) {
	places := map[string]string{}
	free := slices.Clone(names)
	take := func(name, node string) {
		places[name] = node
		free = slices.DeleteFunc(free, func(other string) bool { return other == node })
	}
	for _, spec := range specs {
		if slices.Contains(free, spec.Node) {
			take(spec.Node, spec.Node)
		}
	}
	for _, spec := range specs {
		if spec.Node == "" || places[spec.Node] != "" {
			continue
		}
		if len(free) == 0 {
			return nil, fmt.Errorf("unit %s is on %s, and the layout names more nodes than the %d that there are: %s",
				spec.Name, spec.Node, len(names), strings.Join(names, ", "))
		}
		take(spec.Node, free[0])
	}
	unplaced := slices.IndexFunc(specs, func(spec lab.UnitSpec) bool { return spec.Node == "" })
	if len(links) == 0 || unplaced < 0 {
		return places, nil
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if _, changed := links[name]; !changed {
			free = append(free, places[name])
		}
	}
	if len(free) == 0 {
		return nil, fmt.Errorf("hosts: unit %s is on no node, and the links of all %d (%s) are changed: name one "+
			"for it", specs[unplaced].Name, len(names), strings.Join(names, ", "))
	}
	places[""] = free[0]
	return places, nil
}
