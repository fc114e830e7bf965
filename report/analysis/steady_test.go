package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// followedTrials is an experiment of two variants at one rate over six blocks. Course
// has the median response time of one second of a trial of b, as a factor.
func followedTrials(ratio float64, course func(block, second int) float64) Input {
	p50 := lab.Metric{Name: "response_time_p50", Title: "median response time", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.5}
	rows := lab.Metric{Name: "rows", Title: "rows", Unit: "1", Better: lab.LowerIsBetter, Kind: lab.KindCount, Quantity: "rows"}
	point := lab.Point{Name: "at-100", Levels: map[string]float64{"rate": 100}}
	in := Input{Plan: lab.Plan{Study: lab.Study{
		Baseline: "a", Variants: []lab.Variant{{Name: "a"}, {Name: "b"}}, Points: []lab.Point{point}, Metrics: []lab.Metric{p50, rows},
		Design: lab.Design{Blocks: 6, Margin: 0.05, Confidence: 0.95}, Load: &lab.Load{Duration: 10},
	}}}
	for block := 1; block <= 6; block++ {
		for k, name := range []string{"a", "b"} {
			trial := lab.Trial{Number: len(in.Trials) + 1, Attempt: 1, Block: block, Variant: name, Point: point, Valid: true, Operations: 1000, Audit: lab.Audit{Verdict: lab.AuditValid}}
			mean := 0.0
			for second := range 10 {
				value := 0.001 * wobble(block, 3*second+k) // within 6 %
				if name == "b" {
					value *= ratio * course(block, second)
				}
				mean += value / 10
				trial.Course = append(trial.Course, lab.Slice{End: float64(second + 1), OK: 100, Median: &value, P99: &value})
			}
			trial.Measures = map[string]float64{"response_time_p50": mean, "rows": 3 + float64(k)*0.3 + 0.001*wobble(block, k)}
			in.Trials = append(in.Trials, trial)
			in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: trial.Number, Block: block, Variant: name, Point: point.Name})
		}
	}
	return in
}

func TestVerdictsThatHangOnTheLengthOfTrialsAreWithheld(t *testing.T) {
	swings := func(_, second int) float64 { return []float64{1, 20}[second/3%2] }
	tests := map[string]struct {
		ratio   float64
		course  func(block, second int) float64
		verdict lab.ComparisonVerdict
		words   string
	}{
		"steady":                         {2, func(int, int) float64 { return 1 }, lab.Slower, "slower by at least"},
		"swings that could turn it":      {1, swings, lab.Undecided, "withheld: b is not steady"},
		"swings that could not":          {100, swings, lab.Slower, "slower, by how much is open: b is not steady"},
		"slow after half of the trial":   {1.2, func(_, second int) float64 { return []float64{1, 1.5}[second/5] }, lab.Undecided, "withheld: b is not steady"},
		"slower from trial to trial":     {1.1, func(block, _ int) float64 { return 1 + 0.3*float64(block) }, lab.Undecided, "withheld: the ratio goes from block to block"},
		"one trial of six was disturbed": {2, func(block, second int) float64 { return 1 + 3*float64(max(0, min(1, second-7)))*float64(block/6) }, lab.Slower, "slower by at least"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := Analyse(followedTrials(test.ratio, test.course))
			c := a.Comparisons[slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool { return c.Metric == "response_time_p50" })]
			if c.Verdict != test.verdict || !strings.Contains(c.Words, test.words) || (c.Unsteady == "") != strings.Contains(test.words, "at least") {
				t.Errorf("%g %s: %s, want %s: %s", c.Ratio.Ratio, c.Verdict, c.Words, test.verdict, test.words)
			}
			if name == "swings that could turn it" && !strings.Contains(c.Unsteady, "in 6 of 6 trials its median response time changes within the trial, by 20") {
				t.Errorf("in full: %s", c.Unsteady)
			}
			first := strings.HasPrefix(a.Answer[0].Text, "Not steady: b at at-100")
			if within := strings.Contains(test.words, "b is not steady"); first != within {
				t.Errorf("first sentence: %s", a.Answer[0].Text)
			}
			if rows := a.Comparisons[len(a.Comparisons)-1]; rows.Metric != "rows" || rows.Verdict != lab.Slower {
				t.Errorf("a count hangs on no time: %+v", rows)
			}
		})
	}
}
