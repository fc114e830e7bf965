package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// nodesTable shows what each node uses from one load to the next.
func (v view) nodesTable() table {
	t := table{ID: "nodes", Title: "What each node uses, over the loads", Keys: 2,
		Note: "medians over the trials in which units were there at the end of the load; the generator is in no " +
			"figure. " +
			"Where the platform chooses the nodes, other units may be on them in other trials",
		Columns: []column{words("variant"), words("node"), words("load"), numbers("trials"), numbers("units"),
			numbers("share of one processor"), numbers("mean memory")}}
	for _, x := range v.variants() {
		loads := slices.DeleteFunc(slices.Clone(v.NodeLoads),
			func(n lab.NodeLoad) bool { return n.Variant != x.Name })
		slices.SortStableFunc(loads, func(a, b lab.NodeLoad) int { return cmp.Compare(a.Node, b.Node) })
		for _, n := range loads {
			t.add(text(n.Variant), text(n.Node), text(v.at(n.Point.Name)), text(strconv.Itoa(n.Trials)),
				text(strconv.FormatFloat(n.Units, 'g', 3, 64)),
				text(figure.Percent(n.CPUShare)), text(figure.Amount(n.MeanMemory, "B")))
		}
	}
	return t
}
