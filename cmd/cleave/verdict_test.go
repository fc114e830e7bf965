package main

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/systems/external"
)

// TestUndecidedNamesWhatARunHasLeftOpen: for each kind of study, the message names the undecided results that
// its question is about.
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
		"effects of factors, on the headline": {lab.Study{Factorial: &lab.Factorial{}}, lab.Analysis{
			Metrics: headline, FactorEffects: []lab.FactorEffects{
				{Metric: "p50", Point: point, Effects: []lab.FactorEffect{
					{Label: "logging requests", Verdict: lab.Undecided, Words: "unclear"},
					{Label: "spans off", Verdict: lab.Equivalent}}},
				{Metric: "cpu", Point: point, Effects: []lab.FactorEffect{{Verdict: lab.Undecided}}}}},
			[]string{"p50 at rate-20: logging requests is unclear"}},
		"nothing": {lab.Study{System: external.Name}, lab.Analysis{Metrics: headline, Comparisons: []lab.Comparison{
			{Metric: "p50", Verdict: lab.Equivalent}}}, nil},
	} {
		if got := undecided(c.study, c.found); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOneVerdictForAllCommands: a broken invariant takes precedence over an unknown audit, whose exit code
// depends on the reason. In checks and jobs there is no load that might not be achieved.
func TestOneVerdictForAllCommands(t *testing.T) {
	unknown := lab.Audit{Verdict: lab.AuditUnknown, Figures: map[string]float64{lab.FigureAchieved: 1}}
	open := lab.Audit{Verdict: lab.AuditUnknown, Figures: map[string]float64{external.FigureUndecided: 1}}
	for name, c := range map[string]struct {
		audits       []lab.Audit // of the variants a and b; a trial is valid if its audit is
		check, other int
	}{
		"kept":          {[]lab.Audit{{Verdict: lab.AuditValid}, {Verdict: lab.AuditValid}}, 0, 0},
		"broken":        {[]lab.Audit{unknown, {Verdict: lab.AuditInvalid}}, exitInvariant, exitInvariant},
		"undecided":     {[]lab.Audit{open, open}, exitUndecided, exitUndecided},
		"one undecided": {[]lab.Audit{open, unknown}, exitFailed, exitLoadNotReached},
		"not known":     {[]lab.Audit{{Verdict: lab.AuditValid}, unknown}, exitFailed, exitLoadNotReached},
		"never loaded":  {[]lab.Audit{{}, unknown}, exitFailed, exitFailed},
	} {
		s := lab.Study{Name: checkName, Baseline: "a", Load: &lab.Load{}, Design: lab.Design{Blocks: 1},
			Variants: []lab.Variant{{Name: "a"}, {Name: "b"}}, Points: []lab.Point{{Name: "p"}}}
		folder, err := store.Create(t.TempDir(), lab.Plan{Schema: lab.PlanSchema, Study: s}, lab.Environment{})
		if err != nil {
			t.Fatal(err)
		}
		for i, audit := range c.audits {
			err := folder.Save(lab.Trial{Schema: lab.TrialSchema, Number: i + 1, Attempt: 1, Block: 1,
				Variant: s.Variants[i].Name, Point: s.Points[0], Valid: audit.Verdict == lab.AuditValid,
				Audit: audit}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		found, err := analyse(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		check := checkAudits(folder, s, found, exitFailed)
		other := verdict(folder, s, found, false)
		if exitCode(check) != c.check || exitCode(other) != c.other {
			t.Errorf("%s: %v (%d) and %v (%d), want %d and %d", name, check, exitCode(check), other,
				exitCode(other), c.check, c.other)
		}
	}
}
