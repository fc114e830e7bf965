package report

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// waterfall returns a waterfall of two steps.
func waterfall(metric, point string, ratios [3]float64, verdict lab.ComparisonVerdict) lab.Waterfall {
	of := func(r float64) lab.Ratio {
		low, high := 0.9*r, 1.1*r
		return lab.Ratio{Ratio: r, Low: &low, High: &high, N: 8}
	}
	return lab.Waterfall{
		Metric: metric, Point: lab.Point{Name: point}, From: "monolith", To: "sync", Whole: of(ratios[2]),
		Verdict: lab.Slower,
		Steps: []lab.Step{
			{Knob: "data", Change: "shared -> databases", Variant: "b", Ratio: of(ratios[0]), Verdict: verdict},
			{Knob: "placement", Change: "together -> apart", With: "binding http", Variant: "sync",
				Ratio: of(ratios[1]), Verdict: lab.Undecided},
		},
	}
}

// explanation returns a view of waterfalls.
func explanation(waterfalls ...lab.Waterfall) view {
	return newView(lab.Analysis{Blocks: 8, Margin: 0.05, Confidence: 0.95, Scale: 1, Waterfalls: waterfalls})
}

func TestStepsAreRowsAndMetricsAreColumns(t *testing.T) {
	p := printer{}
	p.table(explanation(waterfall("cpu_per_operation", "calm", [3]float64{1, 3, 3}, lab.Equivalent),
		waterfall("peak_memory", "calm", [3]float64{2, 1, 2}, lab.Slower)).stepsTable(false))
	got := p.b.String()
	for _, want := range []string{
		"From monolith to sync, one knob at a time, at calm",
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

// TestStretchesStandBeforeTheWhole: the stretches before and after the first tuning step have rows.
func TestStretchesStandBeforeTheWhole(t *testing.T) {
	w := waterfall("cpu_per_operation", "calm", [3]float64{3, 0.5, 1.5}, lab.Slower)
	w.Stretches = []lab.Stretch{{From: "monolith", To: "b", Ratio: w.Steps[0].Ratio, Verdict: lab.Slower},
		{From: "b", To: "sync", Ratio: w.Steps[1].Ratio, Verdict: lab.Faster}}
	p := printer{}
	p.table(explanation(w).stepsTable(false))
	want := "monolith -> b                     3.00x [2.70, 3.30]\n  b -> sync                      0.500x " +
		"[0.450, 0.550]\n  monolith -> sync                  1.50x [1.35, 1.65]\n"
	if got := p.b.String(); !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

func TestColumnsNameTheirPointsIfTheseDiffer(t *testing.T) {
	table := explanation(waterfall("cpu_per_operation", "calm", [3]float64{1, 3, 3}, lab.Slower),
		waterfall("capacity", "capacity", [3]float64{1, 3, 3}, lab.Slower)).stepsTable(false)
	if names := []string{table.Columns[1].Name,
		table.Columns[2].Name}; names[0] != "cpu per operation at calm" || names[1] != "capacity" ||
		strings.Contains(table.Title, "calm") {
		t.Errorf("%q under %q", names, table.Title)
	}
}

func TestAllMetricsOnlyOnRequest(t *testing.T) {
	var waterfalls []lab.Waterfall
	for _, metric := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		waterfalls = append(waterfalls, waterfall(metric, "calm", [3]float64{1, 1, 1}, lab.Slower),
			waterfall(metric, "busy", [3]float64{1, 1, 1}, lab.Slower))
	}
	v := explanation(waterfalls...)
	if few, all := len(v.stepsTable(false).Columns), len(v.stepsTable(true).Columns); few != 13 || all != 15 {
		t.Errorf("%d and %d columns, want the steps and six metrics at two points, then all seven", few, all)
	}
	if !explanation().stepsTable(true).empty() {
		t.Error("without steps there is a table")
	}
}

// namedSteps returns a waterfall between variants of a study, with a step that changes two knobs.
func namedSteps() lab.Waterfall {
	w := waterfall("cpu_per_operation", "calm", [3]float64{1, 3, 3}, lab.Slower)
	w.Steps = w.Steps[:1]
	w.Steps[0].Name = "monolith -> sync"
	w.Steps[0].With = "binding http"
	w.Steps[0].Changes = []lab.KnobChange{{Knob: "data", From: "shared", To: "databases"},
		{Knob: "placement", From: "together", To: "apart"}}
	return w
}

func TestStepsBetweenVariantsListAllTheyTurn(t *testing.T) {
	v := explanation(namedSteps())
	turned := "data shared -> databases, placement together -> apart (with binding http)"
	note := v.stepsTable(true).Note
	first := v.waterfallTable(0, v.Waterfalls[0]).Rows[0]
	if !strings.Contains(note, "monolith -> sync: "+turned) || first[1].Text != turned {
		t.Errorf("%q and %+v, want both to say that the step turns %s", note, first, turned)
	}
	s := v.waterfallSection()
	for what, text := range map[string]string{"title": v.stepsTable(false).Title, "caption": s.Caption,
		"how to read it": s.HowTo} {
		if said := strings.ToLower(text); strings.HasPrefix(said, "one knob") ||
			strings.Contains(said, ", one knob at a time") || !strings.Contains(said, "variant") {
			t.Errorf("%s: %q, want it to be about variants", what, text)
		}
	}
	if !strings.Contains(s.HowTo, "cleave explain") {
		t.Errorf("how to read it %q", s.HowTo)
	}
}

// TestAStudyWithClaimsIsNoExplanation: its steps are not what it is about.
func TestAStudyWithClaimsIsNoExplanation(t *testing.T) {
	a := lab.Analysis{Blocks: 8, Waterfalls: []lab.Waterfall{namedSteps()}}
	if !newView(a).explains() {
		t.Error("steps and no claims are not what the study is about")
	}
	a.Claims = []lab.Judgement{{ID: "c"}}
	if newView(a).explains() {
		t.Error("a study with claims is about its steps")
	}
}

// TestInteractionsNameTheirPoint, if steps were measured at several points: else rows look the same.
func TestInteractionsNameTheirPoint(t *testing.T) {
	calm := waterfall("peak_memory", "calm", [3]float64{2, 1, 2}, lab.Slower)
	calm.Interactions = []lab.Interaction{{Knob: "data"}}
	busy := calm
	busy.Point.Name = "busy"
	if got := explanation(calm).interactionTable().Rows[0][0].Text; got != "peak memory" {
		t.Errorf("at one point the metric is %q", got)
	}
	rows := explanation(calm, busy).interactionTable().Rows
	if got := rows[0][0].Text + ", " + rows[1][0].Text; got != "peak memory at calm, peak memory at busy" {
		t.Errorf("at two points the metrics are %q", got)
	}
}
