package analysis

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// measuredKiosk returns an experiment with given values, by variant, point and metric, one
// per block.
func measuredKiosk(claims []lab.Claim, values map[string]map[string]map[string][]float64) Input {
	s := lab.Study{
		Name: "kiosk", System: "kiosk", Baseline: "a", Claims: claims, Load: &lab.Load{Objective: "p99<1s"},
		Absent: []lab.AbsentVariant{{Name: "castle", Reason: "no ground"}},
		Design: lab.Design{Blocks: 4, Scale: 1, Margin: 0.05, Confidence: 0.95},
		Points: []lab.Point{{Name: "low", Levels: map[string]float64{"rate": 10}},
			{Name: "high", Levels: map[string]float64{"rate": 100}}},
		Metrics: []lab.Metric{
			{Name: "done", Title: "time until done", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindTime},
			{Name: "answered", Title: "time until answered", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindTime},
			{Name: "errors", Title: "share of errors", Unit: "1", Better: lab.LowerIsBetter, Kind: lab.KindShare},
			{Name: "capacity", Title: "capacity", Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate,
				Quantity: lab.Capacity, Source: lab.FromGenerator},
		},
	}
	in := Input{}
	for variant, points := range values {
		s.Variants = append(s.Variants, lab.Variant{Name: variant, System: "kiosk"})
		for point, metrics := range points {
			at, _ := s.Point(point)
			for block := 1; block <= s.Design.Blocks; block++ {
				trial := lab.Trial{Number: len(in.Trials) + 1, Block: block, Variant: variant, Point: at, Valid: true,
					Measures: map[string]float64{}, Audit: lab.Audit{Verdict: lab.AuditValid}}
				for metric, series := range metrics {
					trial.Measures[metric] = series[block-1]
				}
				in.Trials = append(in.Trials, trial)
			}
		}
	}
	in.Plan.Study = s
	return in
}

// TestClaimsAboutRangesAndLevels judges a claim of each kind. Long because it is a table.
func TestClaimsAboutRangesAndLevels(t *testing.T) {
	type at = map[string][]float64
	values := map[string]map[string]map[string][]float64{
		"a": {
			"low": {"done": {1.00, 1.01, 0.99, 1.00}, "answered": {0.1, 0.101, 0.099, 0.1}, "errors": {0, 0, 0, 0},
				"capacity": {100, 102, 98, 100}},
			"high": {"done": {2.00, 2.01, 1.99, 2.00}, "answered": {0.2, 0.2, 0.2, 0.2}, "errors": {0, 0.2, 0, 0.1}},
		},
		"b": {"low": {"done": {1.01, 1.00, 1.00, 0.99}, "capacity": {85, 83, 84, 82}},
			"high": at{"done": {2.6, 2.5, 2.55, 2.6}}},
		"noisy": {"low": at{"done": {1, 2, 0.5, 1}}},
	}
	claim := func(
		kind lab.ClaimKind, metric, variant, against string, low, high float64, points ...string,
	) lab.Claim {
		c := lab.Claim{ID: "x", Kind: kind, Metric: metric, Variant: variant, Against: against, Points: points}
		c.Low = low
		c.High = high
		return c
	}
	metrics := claim(lab.ClaimEquivalent, "done", "a", "a", 0, 0)
	metrics.AgainstMetric = "answered"
	unmeasured := claim(lab.ClaimMore, "", "a", "b", 0, 0)
	unmeasured.Untestable = "no meter here"
	factor := claim(lab.ClaimFactor, "done", "a", "a", 9, 11)
	factor.AgainstMetric = "answered"
	for name, c := range map[string]struct {
		claim lab.Claim
		want  lab.ClaimVerdict
		says  string
	}{
		"equivalent within the margin": {claim(lab.ClaimEquivalent, "done", "b", "a", 0, 0, "low"),
			lab.ClaimSupported, "within 0.952 to 1.05 at all points (1)"},
		"not equivalent at one point": {claim(lab.ClaimEquivalent, "done", "b", "a", 0, 0), lab.ClaimContradicted,
			"at high: outside"},
		"equivalent within its range": {claim(lab.ClaimEquivalent, "done", "b", "a", 0.7, 1.4),
			lab.ClaimSupported, "the farthest from 1 being 1.2"},
		"too noisy to say": {claim(lab.ClaimEquivalent, "done", "noisy", "a", 0, 0),
			lab.ClaimUndecided, "over the edge"},
		"more of what is better": {claim(lab.ClaimMore, "capacity", "a", "b", 0, 0), lab.ClaimSupported,
			"a over b is above 1"},
		"not more": {claim(lab.ClaimMore, "capacity", "b", "a", 0, 0), lab.ClaimContradicted,
			"less"},
		"answered is not done": {metrics, lab.ClaimContradicted, "done of a over answered of a is"},
		"done over answered":   {factor, lab.ClaimSupported, "within 9 to 11"},
		"a level": {claim(lab.ClaimLevel, "errors", "a", "", 0, 0.001, "low"),
			lab.ClaimSupported, "errors of a is within 0 to 0.001"},
		"a level over the edge": {claim(lab.ClaimLevel, "errors", "a", "", 0, 0.001), lab.ClaimUndecided,
			"at high"},
		"a level that is not kept": {claim(lab.ClaimLevel, "done", "a", "", 0, 0.5), lab.ClaimContradicted,
			"at low"},
		"a variant that cannot be here": {claim(lab.ClaimMore, "capacity", "a", "castle", 0, 0),
			lab.ClaimUntestable, "castle: untestable here: no ground"},
		"an unknown metric": {claim(lab.ClaimLevel, "speed", "a", "", 0, 1), lab.ClaimUntestable,
			`no metric "speed"`},
		"a metric that is not measured": {unmeasured, lab.ClaimUntestable, "no meter here"},
	} {
		a := Analyse(measuredKiosk([]lab.Claim{c.claim}, values))
		if j := a.Claims[0]; j.Verdict != c.want || !strings.Contains(j.Reason, c.says) {
			t.Errorf("%s: %s: %s; want %s with %q", name, j.Verdict, j.Reason, c.want, c.says)
		}
		encode(t, a)
	}
}

// TestAClaimedRangeMayEndAtZero: its end 0 is no open end.
func TestAClaimedRangeMayEndAtZero(t *testing.T) {
	falls := claim{Claim: lab.Claim{Kind: lab.ClaimLinear, Low: -1, High: 0}}
	for want, ends := range map[lab.ClaimVerdict][2]float64{lab.ClaimSupported: {-0.5, -0.4},
		lab.ClaimUndecided: {-0.1, 0.1}, lab.ClaimContradicted: {0.4, 0.5}} {
		got, text := inRange(falls, &ends[0], &ends[1], "it")
		if got != want || !strings.Contains(text, "-1 to 0") {
			t.Errorf("%v is %s (%s), want %s", ends, got, text, want)
		}
	}
}

// TestIntervalsOfMeansEndAtZero if no value is negative.
func TestIntervalsOfMeansEndAtZero(t *testing.T) {
	if _, low, high := levelOfClaim([]float64{0, 0.2, 0, 0.1}, 0.95); *low != 0 || *high < 0.1 {
		t.Errorf("[%g, %g], want an interval from 0", *low, *high)
	}
	if _, low, _ := levelOfClaim([]float64{-1, 2}, 0.95); *low >= -1 {
		t.Errorf("low %g, want it below the least value", *low)
	}
}

// TestTheMeanOfAClaimLeavesOutIndirectRatios: no block at p3 has both variants, and c tells their ratio.
func TestTheMeanOfAClaimLeavesOutIndirectRatios(t *testing.T) {
	in := measuredKiosk([]lab.Claim{{ID: "x", Kind: lab.ClaimFactor, Metric: "done", Variant: "b", Against: "a",
		Low: 1, High: 3}}, nil)
	s := &in.Plan.Study
	s.Variants = []lab.Variant{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	s.Points = []lab.Point{{Name: "p1"}, {Name: "p2"}, {Name: "p3"}}
	for i, p := range s.Points {
		for block := 1; block <= s.Design.Blocks; block++ {
			for j, v := range s.Variants {
				if p.Name == "p3" && j == block%2 {
					continue
				}
				took := float64(1+j+5*(i/2)*j) * (1 + 0.01*float64((block*(j+2))%3))
				in.Trials = append(in.Trials, lab.Trial{Number: len(in.Trials) + 1, Block: block, Variant: v.Name,
					Point: p, Valid: true, Measures: map[string]float64{"done": took},
					Audit: lab.Audit{Verdict: lab.AuditValid}})
			}
		}
	}
	j := Analyse(in).Claims[0]
	if !strings.Contains(j.Reason, "the mean ratio of 2 of 3 points is 1.98x") ||
		strings.Contains(j.Reason, "p3") {
		t.Errorf("%s: %s, want the mean of p1 and p2", j.Verdict, j.Reason)
	}
}
