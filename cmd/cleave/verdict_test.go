package main

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/external"
)

// TestUndecidedNamesWhatARunHasLeftOpen: of each kind of study what its question is about.
func TestUndecidedNamesWhatARunHasLeftOpen(t *testing.T) {
	point := lab.Point{Name: "rate-20"}
	headline := []lab.Metric{{Name: "p50"}, {Name: "cpu"}}
	for name, c := range map[string]struct {
		study lab.Study
		found lab.Analysis
		want  []string
	}{
		"claims": {lab.Study{Claims: []lab.Claim{{ID: "c1"}}}, lab.Analysis{Claims: []lab.Judgement{
			{ID: "c1", Text: "It is faster.", Verdict: lab.ClaimUndecided, Reason: "too few"},
			{ID: "c2", Verdict: lab.ClaimSupported}}},
			[]string{`the claim "It is faster." is undecided: too few`}},
		"a comparison, in its headline": {lab.Study{System: external.Name}, lab.Analysis{Metrics: headline,
			Comparisons: []lab.Comparison{
				{Metric: "p50", Point: point, Variant: "b", Baseline: "a", Verdict: lab.Undecided, Words: "unclear"},
				{Metric: "cpu", Point: point, Variant: "b", Baseline: "a", Verdict: lab.Undecided}}},
			[]string{"b against a at rate-20 is undecided: unclear"}},
		"units that were scaled": {lab.Study{Name: bottleneckName}, lab.Analysis{
			Bottlenecks: []lab.Bottleneck{{Metric: "throughput", Point: point, Doubled: []lab.Doubled{
				{Variant: "stock-x2", Verdict: lab.Undecided}, {Variant: "orders-x2", Verdict: lab.Faster}}}}},
			[]string{"throughput of stock-x2 at rate-20 is undecided"}},
		"nothing": {lab.Study{System: external.Name}, lab.Analysis{Metrics: headline, Comparisons: []lab.Comparison{
			{Metric: "p50", Verdict: lab.Equivalent}}}, nil},
	} {
		if got := undecided(c.study, c.found); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
