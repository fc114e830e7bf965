package report

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// way is a waterfall of two steps.
func way(metric, point string, ratios [3]float64, verdict lab.ComparisonVerdict) lab.Waterfall {
	of := func(r float64) lab.Ratio {
		low, high := 0.9*r, 1.1*r
		return lab.Ratio{Ratio: r, Low: &low, High: &high, N: 8}
	}
	return lab.Waterfall{
		Metric: metric, Point: lab.Point{Name: point}, From: "monolith", To: "sync", Whole: of(ratios[2]), Verdict: lab.Slower,
		Steps: []lab.Step{
			{Knob: "data", Change: "shared -> databases", Variant: "b", Ratio: of(ratios[0]), Verdict: verdict},
			{Knob: "placement", Change: "together -> apart", With: "binding http", Variant: "sync", Ratio: of(ratios[1]), Verdict: lab.Undecided},
		},
	}
}

func explanation(ways ...lab.Waterfall) view {
	return newView(lab.Analysis{Blocks: 8, Margin: 0.05, Confidence: 0.95, Scale: 1, Waterfalls: ways})
}

func TestStepsStandAgainstMetrics(t *testing.T) {
	p := printer{}
	p.table(explanation(way("cpu_per_operation", "calm", [3]float64{1, 3, 3}, lab.Equivalent), way("peak_memory", "calm", [3]float64{2, 1, 2}, lab.Slower)).stepsTable(false))
	got := p.b.String()
	for _, want := range []string{
		"From monolith to sync, one knob at a time, at calm", "with placement together -> apart comes binding http",
		"step                            cpu per operation           peak memory\n",
		"data shared -> databases     ~ 1.00x [0.90, 1.10]    2.00x [1.80, 2.20]\n",
		"placement together -> apart  ? 3.00x [2.70, 3.30]  ? 1.00x [0.90, 1.10]\n",
		"monolith -> sync               3.00x [2.70, 3.30]    2.00x [1.80, 2.20]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestStepsSayWhereWhenPointsDiffer(t *testing.T) {
	table := explanation(way("cpu_per_operation", "calm", [3]float64{1, 3, 3}, lab.Slower), way("capacity", "capacity", [3]float64{1, 3, 3}, lab.Slower)).stepsTable(false)
	if names := []string{table.Columns[1].Name, table.Columns[2].Name}; names[0] != "cpu per operation at calm" || names[1] != "capacity" || strings.Contains(table.Title, "calm") {
		t.Errorf("%q under %q", names, table.Title)
	}
}

func TestAllMetricsOnlyOnRequest(t *testing.T) {
	var ways []lab.Waterfall
	for _, metric := range []string{"a", "b", "c", "d", "e", "f"} {
		ways = append(ways, way(metric, "calm", [3]float64{1, 1, 1}, lab.Slower), way(metric, "busy", [3]float64{1, 1, 1}, lab.Slower))
	}
	v := explanation(ways...)
	if few, all := len(v.stepsTable(false).Columns), len(v.stepsTable(true).Columns); few != 11 || all != 13 {
		t.Errorf("%d and %d columns, want the steps and five metrics at two points, then all six", few, all)
	}
	if !explanation().stepsTable(true).empty() {
		t.Error("without steps there is a table")
	}
}
