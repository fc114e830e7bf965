package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// levelsOf returns the significance levels of the looks of an experiment that ends when all is decided, and
// therefore analyses its trials after every block from the first look on. It returns nil for other designs
// and for those with just one look.
func levelsOf(design lab.Design) *stats.Sequence {
	if design.Until != lab.UntilDecided || design.Blocks <= lab.FirstLook {
		return nil
	}
	levels := stats.NewSequence(lab.FirstLook, design.Blocks)
	return &levels
}

// confidence returns the level for an interval at the look after a number of blocks. It is so high that the
// intervals of all looks together keep the given confidence.
func (e *experiment) confidence(confidence float64, blocks int) float64 {
	if e.looks == nil {
		return confidence
	}
	return 1 - e.looks.Level(1-confidence, blocks)
}

// lineConfidence returns the level for the intervals of a fitted line, which goes through means over all
// blocks.
func (e *experiment) lineConfidence() float64 {
	return e.confidence(e.design.Confidence, e.lastBlock())
}

// overallP converts the p-value of the look after a number of blocks to one for all looks together.
func (e *experiment) overallP(p float64, blocks int) float64 {
	if e.looks == nil {
		return p
	}
	return e.looks.P(p, blocks)
}

// Rule implements lab.StoppingRule. It stops the trials of a variant at a point when they can decide no open
// question of the study; see questions.
type Rule struct{ input Input }

// NewRule returns the rule of a plan. It computes the levels of the looks once for all analyses of the
// experiment, since one computation takes up to a second. The rule ignores the trials of the input.
func NewRule(in Input) Rule {
	in.looks = levelsOf(in.Plan.Study.Design)
	return Rule{in}
}

// experimentOf returns the experiment with only the trials played so far.
func (r Rule) experimentOf(played []lab.Trial) *experiment {
	r.input.Trials = played
	return newExperiment(r.input)
}

// Needed implements lab.StoppingRule. A trial of a twin is needed if one of its original is.
func (r Rule) Needed(played []lab.Trial) func(lab.PlannedTrial) bool {
	e := r.experimentOf(played)
	needed := e.openSettings()
	return func(planned lab.PlannedTrial) bool {
		name := planned.Variant
		if v, known := e.study.Variant(name); known && v.TwinOf != "" {
			name = v.TwinOf
		}
		return slices.Contains(needed, setting{name, planned.Point})
	}
}

// Answers implements lab.StoppingRule.
func (r Rule) Answers(played []lab.Trial) []lab.Answer {
	var all []lab.Answer
	for _, q := range r.experimentOf(played).questions() {
		if q.Text != "" { // a question without data has none
			all = append(all, q.Answer)
		}
	}
	return all
}

// Headline implements lab.StoppingRule.
func (r Rule) Headline(played []lab.Trial) *lab.Headline {
	r.input.Trials = played
	return Analyse(r.input).Answer.Headline
}

// setting is a variant at a point.
type setting struct{ variant, point string }

// settingsAt returns the settings of variants at a point.
func settingsAt(point string, variants ...string) (all []setting) {
	for _, name := range variants {
		all = append(all, setting{name, point})
	}
	return all
}

// openSettings returns the settings whose trials can decide an open question.
func (e *experiment) openSettings() []setting {
	var all []setting
	for _, q := range e.questions() {
		if !q.open {
			continue
		}
		for _, s := range q.settings {
			all = appendNew(all, s)
		}
	}
	return all
}

// question is a question of the study, with its answer so far.
type question struct {
	lab.Answer
	open     bool      // it is undecided, and more trials can decide it
	settings []setting // whose trials it needs
}

// questions returns the questions of the study: about its steps if these are its answer, else about the
// effects of its factorial design, else about its claims, else about the comparisons in its decisive metrics.
func (e *experiment) questions() []question {
	switch {
	case e.study.Explains():
		return e.stepQuestions()
	case e.study.Factorial != nil:
		return e.factorQuestions()
	case len(e.study.Claims) > 0:
		return e.claimQuestions()
	}
	return e.comparisonQuestions()
}

// isOpen reports whether more trials can decide a verdict: it is undecided, and its trials at the point are
// steady or may become longer.
func (e *experiment) isOpen(verdict lab.ComparisonVerdict, unsteady, point string) bool {
	if unsteady != "" && !e.canLengthen(point) {
		return false
	}
	return verdict == lab.Undecided
}

// unanswered returns the points at which a question about variants cannot be answered yet: no block has
// trials of all of them there or, as long as no point is answered, their metrics were not measured.
func (e *experiment) unanswered(points []lab.Point, variants, answered []string) []string {
	var names []string
	for _, p := range points {
		switch {
		case slices.Contains(answered, p.Name):
		case e.lackBlock(p.Name, variants), len(answered) == 0 && e.canCompare(p.Name, variants):
			names = append(names, p.Name)
		}
	}
	return names
}

// canCompare reports whether trials at a point can compare variants: all play there, and none is absent or
// was struck out.
func (e *experiment) canCompare(point string, variants []string) bool {
	return allOf(variants, e.comparable) && e.planned(point, variants)
}

// lackBlock reports whether no block has valid trials of all variants at a point, although trials there can
// compare them.
func (e *experiment) lackBlock(point string, variants []string) bool {
	hasAll := func(block int) bool {
		return allOf(variants, func(name string) bool { return e.counts(name, point, block) })
	}
	return e.canCompare(point, variants) && !slices.ContainsFunc(e.blocks, hasAll)
}

// comparisonQuestions returns questions about the comparisons in the decisive metrics.
func (e *experiment) comparisonQuestions() []question {
	var all []question
	answered := map[pair][]string{}
	for _, c := range e.comparisons() {
		if !slices.Contains(e.decisiveMetrics(), c.Metric) {
			continue
		}
		all = append(all, question{e.answerOf(c.Variant, c.Baseline, c),
			e.isOpen(c.Verdict, c.Unsteady, c.Point.Name), settingsAt(c.Point.Name, c.Variant, c.Baseline)})
		p := pair{c.Variant, c.Baseline}
		answered[p] = append(answered[p], c.Point.Name)
	}
	for _, p := range e.pairs() {
		variants := []string{p.variant, p.against}
		for _, point := range e.unanswered(e.study.Points, variants, answered[p]) {
			all = append(all, question{open: true, settings: settingsAt(point, variants...)})
		}
	}
	return all
}

// decisiveMetrics returns the metrics that an experiment decides before it ends: the first few of the study,
// or the headline metric if the study names none.
func (e *experiment) decisiveMetrics() []string {
	var names []string
	for _, m := range e.study.Metrics {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return []string{e.headlineMetric()}
	}
	return names[:min(mostNamed, len(names))]
}

// stepQuestions returns questions about whole waterfalls, then about their steps. They are about the first
// metrics that the study names for steps, or about the decisive metrics if it names none. Each question needs
// all variants of the steps: every trial helps to estimate the effect of its block, and interactions are
// estimated from the blocks that have every variant.
func (e *experiment) stepQuestions() []question {
	variants := filter(stepVariants(e.study.Steps), e.comparable)
	decisive := e.decisiveMetrics()
	if x := e.study.Explained; x != nil && len(x.Metrics) > 0 {
		decisive = x.Metrics[:min(mostNamed, len(x.Metrics))]
	}
	waterfalls := filter(e.waterfalls(),
		func(w lab.Waterfall) bool { return slices.Contains(decisive, w.Metric) })
	var wholes, steps []question
	var answered []string
	for _, w := range waterfalls {
		at := w.Point.Name
		answered = append(answered, at)
		of := lab.Comparison{Metric: w.Metric, Point: w.Point, Ratio: w.Whole, Verdict: w.Verdict}
		wholes = append(wholes, question{e.answerOf(w.To, w.From, of), e.isOpen(w.Verdict, w.Unsteady, at),
			settingsAt(at, variants...)})
		for _, s := range w.Steps {
			of.Ratio = s.Ratio
			of.Verdict = s.Verdict
			steps = append(steps, question{e.answerOf(s.Variant, s.Before, of), e.isOpen(s.Verdict, s.Unsteady, at),
				settingsAt(at, variants...)})
		}
	}
	shown := e.steps(1)
	for _, at := range e.unanswered(e.stepPoints(shown), stepVariants(shown), answered) {
		steps = append(steps, question{open: true, settings: settingsAt(at, variants...)})
	}
	return append(wholes, steps...)
}

// claimQuestions returns questions about the claims. A claim that the trials so far cannot test gets more
// only where trials were lost. A claim about every point needs no more where it is supported.
func (e *experiment) claimQuestions() []question {
	var all []question
	for _, stated := range e.study.Claims {
		j, c := e.judge(stated)
		if stated.Untestable != "" {
			continue
		}
		q := question{Answer: lab.Answer{Question: j.ID, Text: quoted(j) + " open again"}}
		switch j.Verdict {
		case lab.ClaimUntestable:
			q.Text = ""
		case lab.ClaimUndecided:
			q.open = allOf(c.unsteady, e.canLengthen)
		default:
			q.Verdict = string(j.Verdict)
			q.Text = fmt.Sprintf("%s %s", quoted(j), j.Verdict)
		}
		for _, point := range c.points {
			if q.open && !e.holdsAt(c, point) {
				q.settings = append(q.settings, settingsAt(point, c.variants()...)...)
			}
		}
		for _, point := range e.claimedPoints(c.Claim, e.pointsOf()) {
			if e.lackBlock(point, c.variants()) {
				q.open = true
				q.settings = append(q.settings, settingsAt(point, c.variants()...)...)
			}
		}
		all = append(all, q)
	}
	return all
}

// holdsAt reports whether a claim about every point is supported at one of them. It is false for a claim with
// a single point, and for one that does not judge every point separately.
func (e *experiment) holdsAt(c claim, point string) bool {
	if !c.test.EveryPoint || len(c.points) < 2 {
		return false
	}
	c.Claim.Points = []string{point}
	j, _ := e.judge(c.Claim)
	return j.Verdict == lab.ClaimSupported
}

// answerOf returns a comparison as an answer, such as "cpu of b 1.3x that of a at slow". An undecided
// comparison is "open again": its answer is shown only if an earlier look decided it.
func (e *experiment) answerOf(variant, against string, c lab.Comparison) lab.Answer {
	of := figure.Spaced(c.Metric) + " of " + variant
	at := fmt.Sprintf("that of %s at %s", against, c.Point.Name)
	a := lab.Answer{Question: of + " against " + at, Verdict: string(c.Verdict)}
	switch c.Verdict {
	case lab.Undecided:
		a.Verdict = ""
		a.Text = a.Question + " open again"
	case lab.Equivalent:
		a.Text = fmt.Sprintf("%s equivalent to %s", of, at)
	default:
		a.Text = fmt.Sprintf("%s %s %s", of, figure.Multiple(c.Ratio.Ratio), at)
	}
	return a
}
