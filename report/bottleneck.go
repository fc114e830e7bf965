package report

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/report/figure"
)

// bottleneckTables returns a table per point: the gain of scaling each unit alone, and the signals of that
// unit in the baseline.
func (v view) bottleneckTables() []table {
	var all []table
	for i, b := range v.Bottlenecks {
		t := table{ID: fmt.Sprintf("bottleneck-%d", i),
			Title: fmt.Sprintf("Each unit of %s scaled in turn, at %s", b.Variant, b.Point.Name), Keys: 1,
			Note: fmt.Sprintf("%s: with more of the unit / %s (base); ~ equivalent within the margin (%s, or a "+
				"bias), ? undecided; the other columns are of %s: CPU of what the unit may use, "+
				"the wait of an operation in its queues and its share of the critical path, in the mean; %s",
				figure.Spaced(b.Metric), b.Variant, figure.Setting(v.Margin), b.Variant, v.sample()),
			Columns: columns{}.text("unit").number("scaled to", figure.Spaced(b.Metric), "CPU", "queueing",
				"of the path")}
		for _, d := range b.Doubled {
			var to []string
			if d.Replicas > 1 || d.CPU == 0 {
				to = append(to, fmt.Sprintf("%d x", d.Replicas))
			}
			if d.CPU > 0 {
				to = append(to, fmt.Sprintf("%g processors", d.CPU))
			}
			signals := []cell{unlessNil(d.CPUShare, figure.Percent), unlessNil(d.Queueing, seconds),
				unlessNil(d.PathShare, figure.Percent)}
			t.add(d.Unit, strings.Join(to, " "), judgedCell(d.Ratio, d.Verdict), signals)
		}
		all = append(all, t)
	}
	return all
}

// bottleneckSection shows which unit to scale.
func (v view) bottleneckSection() section {
	if len(v.Bottlenecks) == 0 {
		return section{}
	}
	return section{ID: "bottleneck", Title: "Which unit to scale", Shown: v.bottleneckTables(),
		HowTo: fmt.Sprintf("Every row is %s with more of one unit and nothing else changed. Above 1 the unit "+
			"held the system back; at 1 it did not; below 1 one more of it takes more from the others than it gives. "+
			"The columns behind are what is commonly asked instead, before anything is scaled: a signal is good "+
			"where its largest value stands in the first row.", v.Bottlenecks[0].Variant)}
}
