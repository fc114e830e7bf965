package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestNodesAreShownFromLoadToLoad: the rows of a node are together, with its loads in the order of the study.
func TestNodesAreShownFromLoadToLoad(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	low, high := a.Points[0], a.Points[1]
	a.NodeLoads = []lab.NodeLoad{
		{Variant: "sync", Point: low, Node: "node-1", Trials: 6, Units: 3, CPUShare: 0.25, MeanMemory: 2 << 20},
		{Variant: "sync", Point: low, Node: "node-2", Trials: 5, Units: 2.5, CPUShare: 0.1, MeanMemory: 1 << 20},
		{Variant: "sync", Point: high, Node: "node-1", Trials: 6, Units: 3, CPUShare: 0.5, MeanMemory: 3 << 20},
	}
	v := newView(a)
	var rows []string
	for _, cells := range v.nodesTable().Rows {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.Text)
		}
		rows = append(rows, strings.Join(texts, " | "))
	}
	want := []string{
		"sync | node-1 | " + v.at(low.Name) + " | 6 | 3 | 25 % | 2.00 MiB",
		"sync | node-1 | " + v.at(high.Name) + " | 6 | 3 | 50 % | 3.00 MiB",
		"sync | node-2 | " + v.at(low.Name) + " | 5 | 2.5 | 10 % | 1.00 MiB",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("nodes\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
