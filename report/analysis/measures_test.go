package analysis

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// loaded returns an experiment of a system with its own metrics: b takes 1.5 times as
// long as a and holds four fifths of its rate, and a.twin equals a within 1 %.
func loaded() Input {
	points := []lab.Point{{Name: "slow", Levels: map[string]float64{"rate": 100}},
		{Name: "quick", Levels: map[string]float64{"rate": 1000}}}
	in := Input{Plan: lab.Plan{Schema: lab.PlanSchema, Study: lab.Study{
		Name: "own", Baseline: "a", Variants: []lab.Variant{{Name: "a"}, {Name: "a.twin", TwinOf: "a"},
			{Name: "b"}}, Points: points,
		Metrics: []lab.Metric{
			{Name: "response_time_p99", Title: "response time, p99", Unit: "s", Better: lab.LowerIsBetter,
				Kind: lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.99, Source: lab.FromGenerator},
			{Name: "capacity", Title: "capacity", Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate,
				Quantity: lab.Capacity, Source: lab.FromGenerator},
		},
		Claims: []lab.Claim{{ID: "holds", Kind: lab.ClaimFactor, Metric: "capacity", Variant: "b", Against: "a",
			Low: 0.7, High: 0.9}},
		Design: lab.Design{Blocks: 6, Margin: 0.05, Confidence: 0.95},
	}}}
	wobble := []float64{1.004, 0.993, 1.008, 0.998, 1.001, 0.996}
	for block, off := range wobble {
		for _, point := range points {
			for variant, factors := range map[string][2]float64{"a": {1, 1}, "a.twin": {off, 1 / off},
				"b": {1.5 * off, 0.8 / off}} {
				number := len(in.Trials) + 1
				in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: number, Block: block + 1,
					Variant: variant, Point: point.Name})
				in.Trials = append(in.Trials, lab.Trial{
					Number: number, Attempt: 1, Block: block + 1, Variant: variant, Point: point, Valid: true,
					ElapsedSeconds: 10,
					Audit:          lab.Audit{Verdict: lab.AuditValid},
					Measures: map[string]float64{"response_time_p99": 0.002 * factors[0],
						"capacity": 5000 * factors[1]},
				})
			}
		}
	}
	return in
}

func TestASystemIsComparedInItsOwnMetrics(t *testing.T) {
	a := Analyse(loaded())
	want := map[string]lab.ComparisonVerdict{"response_time_p99": lab.Slower, "capacity": lab.Slower}
	if len(a.Metrics) != 2 || len(a.Comparisons) != 4 || len(a.Results) != 8 || len(a.Ladder) != 0 {
		t.Fatalf("%d metrics, %d comparisons, %d results, %d rungs; want 2, 4, 8, 0", len(a.Metrics),
			len(a.Comparisons), len(a.Results), len(a.Ladder))
	}
	for _, c := range a.Comparisons {
		if c.Verdict != want[c.Metric] {
			t.Errorf("%s at %s: %s (%s, ratio %.3g), want %s", c.Metric, c.Point.Name, c.Verdict, c.Words,
				c.Ratio.Ratio, want[c.Metric])
		}
		if c.Metric == "capacity" && !strings.HasPrefix(c.Words, "less") {
			t.Errorf("capacity: %q, want it called less", c.Words)
		}
	}
	if a.Claims[0].Verdict != lab.ClaimSupported {
		t.Errorf("claim on capacity: %s: %s", a.Claims[0].Verdict, a.Claims[0].Reason)
	}
	if floor := a.NoiseFloor["capacity"]; floor.N != 6 {
		t.Errorf("noise floor of capacity over %d blocks, want 6", floor.N)
	}
}

func TestASystemsMetricsAreAnsweredInSentences(t *testing.T) {
	all := answerOf(loaded())
	for _, want := range []string{
		"Compared with a, at 100 operations/s: with b an operation takes 1.5",
		"ratios: Response time, p99 at 100 operations/s: 2.00 ms with a, 3.00 ms with b.",
		"the highest rate is 0.8", "of itself in response time, p99: no bias was found",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "elapsed") {
		t.Errorf("a load of fixed length is not judged by its elapsed time:\n%s", all)
	}
}

// TestTotalsOfAllUnitsAreNoMetrics of a system that has its own: they include the generator.
func TestTotalsOfAllUnitsAreNoMetrics(t *testing.T) {
	in := loaded()
	in.Plan.Study.Metrics = append(in.Plan.Study.Metrics,
		lab.Metric{Name: "peak_memory", Title: "peak memory", Unit: "B", Better: lab.LowerIsBetter,
			Kind: lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter})
	for i := range in.Trials {
		in.Trials[i].Metered.Total.PeakMemoryBytes = 1 << 30
	}
	for _, r := range Analyse(in).Results {
		if r.Metric == "peak_memory" {
			t.Fatalf("%s has a peak memory of %g, which it did not measure", r.Variant, r.Mean)
		}
	}
}
