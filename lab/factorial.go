package lab

import (
	"fmt"
	"strings"
)

// Factorial is a two-level design: it sets several knobs of a system together, each to one of two values, so
// that the effects of all knobs and of all pairs come from the same runs.
type Factorial struct {
	// Notation is the usual name of the design: "2^3", "2^(6-2)".
	Notation string `json:"notation"`
	// Resolution is that of a fractional design; 0: the design has all combinations.
	Resolution int `json:"resolution,omitempty"`
	// Generators and Relation, the defining relation, describe a fractional design: "F = BCD", "I = ABCE = BCDF
	// = ADEF". The letters stand for the factors in their order.
	Generators []string         `json:"generators,omitempty"`
	Relation   string           `json:"relation,omitempty"`
	Factors    []Factor         `json:"factors"`
	Runs       []FactorialRun   `json:"runs"` // the first has every factor at its low level
	Effects    []FactorialGroup `json:"effects"`
}

// Factor is a knob with its two levels.
type Factor struct {
	Knob string `json:"knob"`
	Low  string `json:"low"` // the value of the architecture
	High string `json:"high"`
}

// FactorialRun is one combination of levels, played as a variant of the study.
type FactorialRun struct {
	Variant string `json:"variant"`
	High    []bool `json:"high"` // whether each factor is at its high level
}

// FactorialGroup lists effects that the design cannot distinguish (aliases). An effect that is alone in its
// group is not aliased with any other effect of one or two factors.
type FactorialGroup struct {
	Terms []Term `json:"terms"`
}

// Term is an effect: the knob of a main effect, or the two knobs of an interaction.
type Term []string

// String returns "security" or "security x logging".
func (t Term) String() string { return strings.Join(t, " x ") }

// Sign returns the sign of a run in an effect: 1 on its high side, -1 on its low side. The high side of an
// interaction is where both factors have the same level.
func (f Factorial) Sign(run FactorialRun, t Term) float64 {
	sign := 1.0
	for i, factor := range f.Factors {
		for _, knob := range t {
			if knob == factor.Knob && !run.High[i] {
				sign = -sign
			}
		}
	}
	return sign
}

// String names the effects of a group: "security x encoding or resilience x logging".
func (g FactorialGroup) String() string {
	var names []string
	for _, t := range g.Terms {
		names = append(names, t.String())
	}
	return strings.Join(names, " or ")
}

// Aliasing says that the effects of a group cannot be distinguished. It returns "" for a single effect.
func (g FactorialGroup) Aliasing() string {
	if len(g.Terms) < 2 {
		return ""
	}
	var others []string
	for _, t := range g.Terms[1:] {
		others = append(others, t.String())
	}
	return g.Terms[0].String() + " cannot be told from " + strings.Join(others, " and from ")
}

// Description returns the size of the design, its generators and its defining relation in words.
func (f Factorial) Description() string {
	if len(f.Generators) == 0 {
		return fmt.Sprintf("%s, all %d combinations", f.Notation, len(f.Runs))
	}
	return fmt.Sprintf("%s, %d of %d combinations, resolution %s: %s, %s (NIST/SEMATECH e-Handbook 5.3.3.4.7); "+
		"interactions of three factors and more are taken to be absent", f.Notation, len(f.Runs), 1<<len(f.Factors),
		map[int]string{4: "IV", 5: "V"}[f.Resolution], strings.Join(f.Generators, ", "), f.Relation)
}

// FactorEffects holds the effects of all factors on a metric at a point.
type FactorEffects struct {
	Metric  string         `json:"metric"`
	Point   Point          `json:"point"`
	Effects []FactorEffect `json:"effects"`
}

// FactorEffect is the effect of one factor, the interaction of two, or the sum of aliased interactions.
type FactorEffect struct {
	FactorialGroup
	// Label names the effect: "security mtls", "security x logging".
	Label string `json:"label"`
	// Ratio of a factor is the metric at its high level over the metric at its low level, averaged on the log
	// scale over the levels of the other factors. Ratio of an interaction is the effect of one factor at the
	// high level of the other factor, divided by its effect at the low level of the other factor.
	Ratio   Ratio             `json:"ratio"`
	Verdict ComparisonVerdict `json:"verdict"`
	// Words is the verdict in words. Margin is the margin of the verdict. PHolm is the two-sided p-value against
	// a ratio of 1, adjusted over the effects on the metric.
	Words  string   `json:"words"`
	Margin float64  `json:"margin"`
	PHolm  *float64 `json:"p_holm"`
	// Unsteady says why the verdict depends on how long the trials lasted.
	Unsteady string `json:"unsteady,omitempty"`
	// Withheld is set if the verdict is undecided only for the reason in Unsteady.
	Withheld bool `json:"withheld,omitempty"`
}

// Interacts reports whether the effect is an interaction.
func (e FactorEffect) Interacts() bool { return len(e.Terms[0]) > 1 }

// Chart returns the effects as bars that begin at 1.
func (e FactorEffects) Chart(title, baseline string) Headline {
	h := Headline{Title: title, Baseline: baseline}
	for _, x := range e.Effects {
		h.Bars = append(h.Bars, Bar{Label: x.Label, Metric: e.Metric, Point: e.Point.Name, Variant: x.Label,
			Baseline: baseline, Begin: 1, Ratio: x.Ratio, Verdict: x.Verdict})
	}
	return h
}

// ExplainedEffects returns the effects that an answer explains: those on the first mostExplained metrics.
func ExplainedEffects(all []FactorEffects) []FactorEffects {
	return ofFirstMetrics(all, func(e FactorEffects) string { return e.Metric })
}
