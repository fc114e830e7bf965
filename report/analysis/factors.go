package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// factorEffects returns the effects of a factorial design on all metrics, at the points at which some block
// has all runs.
func (e *experiment) factorEffects() []lab.FactorEffects {
	if e.study.Factorial == nil {
		return nil
	}
	var all []lab.FactorEffects
	for _, metric := range e.study.AllMetrics() {
		for _, point := range e.study.Points {
			if effects := e.effectsOn(metric, point, *e.study.Factorial); len(effects) > 0 {
				all = append(all, lab.FactorEffects{Metric: metric.Name, Point: point, Effects: effects})
			}
		}
	}
	return all
}

// effectsOn returns the effects on one metric, judged as a family, or nil if no block has all runs.
func (e *experiment) effectsOn(metric lab.Metric, point lab.Point, d lab.Factorial) []lab.FactorEffect {
	for _, run := range d.Runs {
		if !e.comparable(run.Variant) {
			return nil // the host cannot play it, or it was struck out
		}
	}
	t := e.blockTable(metric.Name, point.Name, pair{d.Runs[0].Variant, d.Runs[0].Variant})
	var family []lab.Comparison
	var ratios []stats.Ratio
	for _, group := range d.Effects {
		c := e.effectContrast(t, d, group.Terms[0])
		if c.n() == 0 {
			return nil
		}
		p := e.leastSteady(metric, point.Name, d, c)
		family = append(family, e.comparison(metric, point, p, c))
		ratios = append(ratios, c.ratio)
	}
	e.adjust(family, ratios)
	var effects []lab.FactorEffect
	for i, group := range d.Effects {
		c := e.withoutChanceFindings(family[i])
		if len(group.Terms[0]) > 1 && c.Verdict.Differs() {
			c.Words = "together: " + c.Words
		}
		effects = append(effects, lab.FactorEffect{FactorialGroup: group, Label: effectLabel(d, group),
			Ratio: c.Ratio, Verdict: c.Verdict, Words: c.Words, Margin: c.Margin, PHolm: c.PHolm,
			Unsteady: c.Unsteady, Withheld: c.Withheld})
	}
	return effects
}

// effectContrast returns an effect as a contrast of all runs, by block. For a factor it is the mean log of
// the runs at its high level less that of the others. For an interaction it is twice as much, which is the
// difference between the effects of one factor at the two levels of the other. up / down is the effect in a
// block.
func (e *experiment) effectContrast(t blockTable, d lab.Factorial, term lab.Term) contrast {
	weights := make([]float64, len(t.variants))
	size := 2 * float64(len(term)) / float64(len(d.Runs))
	var columns []int
	for _, run := range d.Runs {
		column := slices.Index(t.variants, run.Variant)
		columns = append(columns, column)
		weights[column] = d.Sign(run, term) * size
	}
	var c contrast
	for _, row := range t.logs.Complete(columns) {
		up, down := 0.0, 0.0
		for _, column := range columns {
			up += max(0, weights[column]) * row[column]
			down += max(0, -weights[column]) * row[column]
		}
		c.up = append(c.up, math.Exp(up))
		c.down = append(c.down, math.Exp(down))
	}
	ratio, err := t.logs.Contrast(weights, e.confidence(e.design.Confidence, c.n()))
	return e.withRatio(c, ratio, err)
}

// leastSteady returns the pair of the first run and the one whose change within its trials could distort an
// effect most.
func (e *experiment) leastSteady(metric lab.Metric, point string, d lab.Factorial, c contrast) pair {
	base, worst := d.Runs[0].Variant, 0.0
	p := pair{base, base}
	for _, run := range d.Runs {
		if factor, _, _ := e.disturbance(metric, point, pair{run.Variant, base}, c); factor > worst {
			worst = factor
			p.variant = run.Variant
		}
	}
	return p
}

// withoutChanceFindings returns a comparison as undecided if it is not significant among all effects on the
// metric: a design tests many at once.
func (e *experiment) withoutChanceFindings(c lab.Comparison) lab.Comparison {
	alpha := 1 - e.design.Confidence
	if c.Verdict.Differs() && c.PHolm != nil && *c.PHolm > alpha {
		c.Verdict = lab.Undecided
		c.Words = fmt.Sprintf("undecided: not significant among all %d effects (Holm p %s)", c.Family,
			figure.Rounded(*c.PHolm))
	}
	return c
}

// effectLabel names an effect: "security mtls", "security x logging".
func effectLabel(d lab.Factorial, group lab.FactorialGroup) string {
	first := group.Terms[0]
	if len(first) > 1 {
		return group.String()
	}
	i := slices.IndexFunc(d.Factors, func(f lab.Factor) bool { return f.Knob == first[0] })
	return figure.Spaced(first[0]) + " " + d.Factors[i].High
}

// explainFactors sets sentence and headline for a factorial design, and returns their subject: all effects at
// the first point, and those on the capacity at any point. The sentence names the decided effects of single
// factors, the largest first.
func (e *experiment) explainFactors(a lab.Analysis, c *lab.Conclusion) subject {
	base := e.study.Baseline
	s := subject{baseline: base, point: a.FactorEffects[0].Point.Name}
	s.compared = variantsOf(*e.study.Factorial)[1:]
	var labels []string
	for _, on := range a.FactorEffects {
		m, _ := e.metric(on.Metric)
		if !s.isAt(m, on.Point.Name) {
			continue
		}
		for _, x := range on.Effects {
			s.ratios = append(s.ratios, judged{m, on.Point.Name, x.Label, base, x.Ratio, x.Verdict})
			if !x.Interacts() {
				labels = appendNew(labels, x.Label)
			}
		}
	}
	s.metrics = e.sentenceMetrics(s.ratios)
	slices.SortStableFunc(labels, func(x, y string) int {
		return cmp.Compare(largest(s.of(y)), largest(s.of(x)))
	})
	var parts []string
	for _, label := range labels {
		if text := e.plainFindings(label, s.of(label)); text != "" && len(parts) < mostNamed {
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 {
		c.Sentence = fmt.Sprintf("Averaged over the levels of the other factors, %s: %s.", e.plainPlace(s.point),
			strings.Join(parts, "; "))
	}
	c.Headline = e.effectBars(a, s)
	return s
}

// largest returns the size of the largest decided difference on the log scale.
func largest(all []judged) float64 {
	most := 0.0
	for _, j := range all {
		most = max(most, j.effect())
	}
	return most
}

// effectBars returns the bars of the effects on the first metric of the subject, at its point.
func (e *experiment) effectBars(a lab.Analysis, s subject) *lab.Headline {
	if len(s.metrics) == 0 {
		return nil
	}
	m := s.metrics[0]
	for _, on := range a.FactorEffects {
		if on.Metric == m.Name && s.isAt(m, on.Point.Name) {
			h := on.Chart(fmt.Sprintf("%s%s: effect of each factor, and of pairs (x)", m.Title,
				e.placeOf(m, on.Point.Name)), e.study.Baseline)
			return &h
		}
	}
	return nil
}

// factorFindings returns sentences on the interactions of factors, and on the effects that the design cannot
// distinguish.
func (e *experiment) factorFindings(a lab.Analysis) []string {
	d := e.study.Factorial
	if d == nil {
		return nil
	}
	if len(a.FactorEffects) == 0 {
		return []string{"No block holds every run of the design: nothing can be said of its factors."}
	}
	var texts []string
	for _, on := range a.FactorEffects {
		if text := e.unheldSentence("run", "", variantsOf(*d), on.Point.Name); text != "" {
			texts = appendNew(texts, text)
		}
	}
	explained := lab.ExplainedEffects(a.FactorEffects)
	var found []string
	undecided, all := 0, 0
	for _, on := range explained {
		m, _ := e.metric(on.Metric)
		for _, x := range on.Effects {
			if !x.Interacts() {
				continue
			}
			all++
			switch {
			case x.Verdict.Differs():
				place := e.placeOf(m, on.Point.Name)
				found = append(found, fmt.Sprintf("%s (%s%s, %s)", x.Label, m.Title, place, times(x.Ratio)))
			case x.Verdict == lab.Undecided:
				undecided++
			}
		}
	}
	switch {
	case len(found) > 0:
		texts = append(texts, fmt.Sprintf("Factors interact: %s. The ratio is what one factor does at the other's "+
			"second level, over what it does at the first: the effect of one depends on the other.", some(found)))
	case undecided > 0:
		texts = append(texts, fmt.Sprintf("No interaction of two factors is found; %d of %d stay undecided.",
			undecided, all))
	default:
		text := "All interactions of two factors lie within the margin: each factor acts alone."
		if slices.ContainsFunc(d.Effects, func(g lab.FactorialGroup) bool { return g.Aliasing() != "" }) {
			text = "All interactions of two factors, or the products of those that share a figure, lie within " +
				"the margin: each factor acts alone, unless two interactions cancel."
		}
		texts = append(texts, text)
	}
	var aliased []string
	for _, group := range d.Effects {
		if text := group.Aliasing(); text != "" {
			aliased = append(aliased, text)
		}
	}
	if len(aliased) > 0 {
		texts = append(texts, fmt.Sprintf("The design is a fraction (%s): %s. Their ratio is the product of all "+
			"of the group.", d.Notation, strings.Join(aliased, "; ")))
	}
	return texts
}

// variantsOf returns the names of the variants of a design, run by run.
func variantsOf(d lab.Factorial) (names []string) {
	for _, run := range d.Runs {
		names = append(names, run.Variant)
	}
	return names
}

// factorQuestions returns questions about the effects on the first metrics. Each needs every run: the runs
// of a block are compared together.
func (e *experiment) factorQuestions() []question {
	runs := variantsOf(*e.study.Factorial)
	var all []question
	var answered []string
	for _, on := range e.factorEffects() {
		if !slices.Contains(e.decisiveMetrics(), on.Metric) {
			continue
		}
		at := on.Point.Name
		answered = append(answered, at)
		for _, x := range on.Effects {
			of := lab.Comparison{Metric: on.Metric, Point: on.Point, Ratio: x.Ratio, Verdict: x.Verdict}
			all = append(all, question{e.answerOf(x.Label, e.study.Baseline, of),
				e.isOpen(x.Verdict, x.Unsteady, at), settingsAt(at, runs...)})
		}
	}
	for _, at := range e.unanswered(e.study.Points, runs, answered) {
		all = append(all, question{open: true, settings: settingsAt(at, runs...)})
	}
	return all
}
