package report

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// factorial returns the analysis of half of the combinations of four factors, with effects on one metric.
func factorial() lab.Analysis {
	low := 1.8
	high := 2.2
	p := 0.003
	two := lab.Ratio{Ratio: 2, Low: &low, High: &high, N: 8}
	pair := lab.FactorialGroup{Terms: []lab.Term{{"security", "logging"}, {"spans", "pool"}}}
	d := lab.Factorial{Notation: "2^(4-1)", Resolution: 4, Generators: []string{"D = ABC"}, Relation: "I = ABCD",
		Factors: []lab.Factor{{Knob: "security", Low: "none", High: "tls"},
			{Knob: "logging", Low: "off", High: "requests"},
			{Knob: "spans", Low: "on", High: "off"}, {Knob: "pool", Low: "16", High: "4"}},
		Runs: make([]lab.FactorialRun, 8), Effects: []lab.FactorialGroup{pair}}
	return lab.Analysis{Blocks: 8, Margin: 0.05, Confidence: 0.95, Scale: 1, Baseline: "sync", Factorial: &d,
		FactorEffects: []lab.FactorEffects{{Metric: "cpu_per_operation", Point: lab.Point{Name: "calm"},
			Effects: []lab.FactorEffect{
				{FactorialGroup: lab.FactorialGroup{Terms: []lab.Term{{"security"}}}, Label: "security tls", Ratio: two,
					Verdict: lab.Slower, Words: "costlier by at least 80 %", PHolm: &p},
				{FactorialGroup: pair, Label: pair.String(), Ratio: two, Verdict: lab.Undecided, Words: "undecided"},
			}}}}
}

// TestEffectsOfFactorsHaveATable with the design, its aliases and a verdict on each effect.
func TestEffectsOfFactorsHaveATable(t *testing.T) {
	var b strings.Builder
	testset.Must(t, Terminal(&b, factorial(), Options{}))
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"Factors of the design 2^(4-1)", "resolution IV: D = ABC, I = ABCD (NIST/SEMATECH e-Handbook 5.3.3.4.7)",
		"8 of 16 combinations", "A security none tls", "D pool 16 4",
		"security tls 2.00x [1.80, 2.20] 0.00300 costlier by at least 80 %",
		"security x logging or spans x pool ? 2.00x [1.80, 2.20] - undecided",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// TestEffectsOfFactorsAreDrawn as bars that begin at 1, with intervals.
func TestEffectsOfFactorsAreDrawn(t *testing.T) {
	s := newView(factorial()).factorsSection()
	if len(s.Plots) != 1 || !strings.Contains(s.Plots[0].Bars, `"label":"security tls"`) ||
		strings.Count(s.Plots[0].Bars, `"begin":1,"ratio":2,"low":1.8,"high":2.2`) != 2 {
		t.Errorf("plots %+v, want one with two bars", s.Plots)
	}
	if s := newView(lab.Analysis{}).factorsSection(); s.ID != "" {
		t.Errorf("without factors there is the section %+v", s)
	}
}
