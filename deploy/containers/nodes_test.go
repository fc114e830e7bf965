package containers

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestNodes checks that each node lists the units that the layout places on it.
func TestNodes(t *testing.T) {
	layout := lab.Layout{Units: []lab.UnitSpec{{Name: "free"}, {
		Name:      "placed",
		Placement: lab.Placement{Node: "b"},
	}}}
	nodes := Nodes(layout, []string{"first", "a", "b"})
	if len(nodes[0].Pinned) > 0 || fmt.Sprint(nodes[1].Pinned) != "[placed]" {
		t.Errorf("the nodes are %+v, want that placed is on b alone", nodes)
	}
}

// TestPlaces checks that a node of the layout becomes the cluster's node of that name, or else a free one. If
// the links of some nodes are changed, units without a node get a node whose link is not changed.
func TestPlaces(t *testing.T) {
	names := []string{"a", "b"}
	changed := lab.Network{Rate: 1e6}
	on := func(nodes ...string) (specs []lab.UnitSpec) {
		for _, node := range nodes {
			specs = append(specs, lab.UnitSpec{Name: "on-" + node, Placement: lab.Placement{Node: node}})
		}
		return specs
	}
	for name, c := range map[string]struct {
		specs []lab.UnitSpec
		links map[string]lab.Network
		want  string
	}{
		"by name, or the next": {on("x", "", "a", "x"), nil, "map[a:a x:b] <nil>"},
		"a free node":          {on("x", ""), map[string]lab.Network{"x": changed}, "map[:b x:a] <nil>"},
		"an unchanged link":    {on("x", "y", ""), map[string]lab.Network{"x": changed}, "map[:b x:a y:b] <nil>"},
		"everybody has a node": {on("x", "y"), map[string]lab.Network{"x": changed, "y": changed},
			"map[x:a y:b] <nil>"},
		"every link is changed": {on("x", "y", ""), map[string]lab.Network{"x": changed, "y": changed},
			"map[] hosts: unit on- is on no node, and the links of all 2 (a, b) are changed: name one for it"},
		"more nodes than can be": {on("x", "y", "z"), nil,
			"map[] unit on-z is on z, and the layout names more nodes than the 2 that there are: a, b"},
	} {
		if places, err := Places(names, c.specs, c.links); fmt.Sprint(places, " ", err) != c.want {
			t.Errorf("%s: %v %v, want %s", name, places, err, c.want)
		}
	}
}
