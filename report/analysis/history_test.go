package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestAHeadlineOverRuns: changes of level are found, and those that begin with a change of the environment
// are marked; runs that compare something else are left out.
func TestAHeadlineOverRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bar := lab.Bar{Label: "calls", Metric: "cpu", Point: "p", Variant: "calls", Baseline: "one"}
	var runs []lab.PastRun
	for i := range 60 {
		run := lab.PastRun{Environment: lab.Environment{"kernel": {Value: "6.1"}, "disk_free": {Value: i}}}
		ratio := 1.5 * math.Exp(0.02*random.NormFloat64())
		if i >= 20 {
			ratio *= 1.2
		}
		if i >= 40 {
			ratio /= 1.4
			run.Environment["kernel"] = lab.Fact{Value: "6.2"}
		}
		found := bar
		found.Ratio.Ratio = ratio
		switch {
		case i == 10:
			found.Metric = "elapsed"
			run.Headline = &lab.Headline{Bars: []lab.Bar{found}}
		case i%2 == 0:
			run.Headline = &lab.Headline{Bars: []lab.Bar{found}}
		default:
			run.Comparisons = []lab.Comparison{{Metric: "cpu", Point: lab.Point{Name: "p"}, Variant: "calls",
				Baseline: "one", Ratio: lab.Ratio{Ratio: ratio}}}
		}
		runs = append(runs, run)
	}
	h := History(lab.Headline{Bars: []lab.Bar{bar}}, runs)
	course := h.Courses[0]
	if len(h.Runs) != 60 || len(course.Ratios) != 60 || course.Ratios[10] != nil || course.Ratios[11] == nil {
		t.Fatalf("of 60 runs, %d are there: %+v", len(h.Runs), course)
	}
	changes := course.Changes
	if len(changes) != 2 || changes[0].Run != 20 || changes[1].Run != 40 || changes[0].Elsewhere ||
		!changes[1].Elsewhere || math.Abs(changes[0].Factor-1.2) > 0.03 {
		t.Errorf("changes are %+v", changes)
	}
	levels := course.Levels
	if len(levels) != 3 || levels[0].First != 0 || levels[0].Last != 19 || levels[1].First != 20 ||
		levels[2].Last != 59 || math.Abs(levels[1].Mean-1.8) > 0.03 || math.Abs(levels[2].Mean-1.8/1.4) > 0.03 {
		t.Errorf("levels are %+v", levels)
	}
	for i, run := range h.Runs {
		if want := i == 40; (len(run.Environment) > 0) != want {
			t.Errorf("of run %d the environment has changed: %v", i, run.Environment)
		}
	}
	bare := lab.PastRun{Headline: &lab.Headline{}} // as a damaged file has it
	without := History(lab.Headline{}, []lab.PastRun{bare, runs[0], bare})
	if found := without.Runs[1].Environment; len(found) != 1 || found[0].Before != "not recorded" {
		t.Errorf("beside runs without an environment: %+v", found)
	}
	few := History(lab.Headline{Bars: []lab.Bar{bar}}, runs[:8])
	if few.Courses[0].Unsearched == "" || len(few.Courses[0].Ratios) != 8 {
		t.Errorf("of 8 runs: %+v", few.Courses[0])
	}
}
