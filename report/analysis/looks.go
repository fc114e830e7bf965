package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// takeLooks makes ready for an experiment that looks at its data after every block.
// Such looks are many chances to be wrong, and its intervals are wider for it: all of
// them together keep the confidence of the study.
func (e *experiment) takeLooks() {
	if e.design.Until == lab.UntilDecided && e.design.Blocks > lab.FirstLook {
		looks := stats.NewSequence(lab.FirstLook, e.design.Blocks)
		e.looks = &looks
	}
}

// sure returns the level at which to draw an interval over so many blocks, for it to keep a
// confidence at all looks together.
func (e *experiment) sure(confidence float64, blocks int) float64 {
	if e.looks == nil {
		return confidence
	}
	return 1 - e.looks.Level(1-confidence, blocks)
}

// overall returns a p-value over so many blocks for all looks together.
func (e *experiment) overall(p float64, blocks int) float64 {
	if e.looks == nil {
		return p
	}
	return e.looks.P(p, blocks)
}

// Rule says what is known and stops what is decided (lab.StoppingRule): of a study with
// claims what they need no more, of one that explains all its steps, else pairs of variants
// at a point.
type Rule struct{ Input Input }

// after returns the experiment with only these trials.
func (r Rule) after(played []lab.Trial) *experiment {
	r.Input.Trials = played
	return newExperiment(r.Input)
}

// Needed implements lab.StoppingRule.
func (r Rule) Needed(played []lab.Trial) func(lab.PlannedTrial) bool {
	e := r.after(played)
	needed := e.open()
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
	for _, q := range r.after(played).questions() {
		if q.Text != "" { // unknown waterfalls have none
			all = append(all, q.Answer)
		}
	}
	return all
}

// Headline implements lab.StoppingRule.
func (r Rule) Headline(played []lab.Trial) *lab.Headline {
	r.Input.Trials = played
	return Analyse(r.Input).Answer.Headline
}

// setting is a variant at a point.
type setting struct{ variant, point string }

// settingsAt returns variants at a point.
func settingsAt(point string, variants ...string) (all []setting) {
	for _, name := range variants {
		all = append(all, setting{name, point})
	}
	return all
}

// open returns the variants, and where, of which more must be known.
func (e *experiment) open() []setting {
	var all []setting
	for _, q := range e.questions() {
		for _, s := range q.settings {
			if q.open {
				all = appendNew(all, s)
			}
		}
	}
	return all
}

// question is a question of the study, with its answer so far.
type question struct {
	lab.Answer
	open     bool      // more trials can decide it
	settings []setting // where they would be played
}

// questions returns the questions of the study: its claims, else its steps, else the
// comparisons of its first metrics.
func (e *experiment) questions() []question {
	switch {
	case e.study.Explains():
		return e.stepQuestions()
	case e.study.Factorial != nil:
		return e.factorQuestions()
	case len(e.study.Claims) > 0:
		return e.claimQuestions()
	}
	var all []question
	for _, c := range e.comparisons() {
		if slices.Contains(e.answered(), c.Metric) {
			all = append(all, question{e.answerOf(c.Variant, c.Baseline, c),
				c.Verdict == lab.Undecided && (c.Unsteady == "" || e.canLengthen(c.Point.Name)),
				settingsAt(c.Point.Name, c.Variant, c.Baseline)})
		}
	}
	return all
}

// answered returns the metrics that an answer begins with: these have to be decided.
func (e *experiment) answered() []string {
	var names []string
	for _, m := range e.study.Metrics {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return []string{e.headline()}
	}
	return names[:min(mostNamed, len(names))]
}

// stepQuestions returns questions about whole waterfalls, then about their steps. Each needs all variants
// of the steps, since ratios are over the blocks that have every variant. A change within trials is not
// open: more trials do not end it.
func (e *experiment) stepQuestions() []question {
	settings := func(point lab.Point) []setting { return settingsAt(point.Name, stops(e.study.Steps)...) }
	waterfalls := e.waterfalls()
	var wholes, steps []question
	if len(waterfalls) == 0 {
		for _, point := range e.stepPoints(e.steps(1)) {
			wholes = append(wholes, question{open: true, settings: settings(point)})
		}
	}
	for _, w := range waterfalls {
		if !slices.Contains(e.answered(), w.Metric) {
			continue
		}
		of := lab.Comparison{Metric: w.Metric, Point: w.Point, Ratio: w.Whole, Verdict: w.Verdict}
		wholes = append(wholes, question{e.answerOf(w.To, w.From, of),
			w.Verdict == lab.Undecided && w.Unsteady == "", settings(w.Point)})
		for _, s := range w.Steps {
			of.Ratio, of.Verdict = s.Ratio, s.Verdict
			steps = append(steps, question{e.answerOf(s.Variant, s.Before, of),
				s.Verdict == lab.Undecided && s.Unsteady == "", settings(w.Point)})
		}
	}
	return append(wholes, steps...)
}

// claimQuestions returns questions about the claims that can be tested with what was played so far. A
// claim about every point needs no more trials at points at which it was found to hold.
func (e *experiment) claimQuestions() []question {
	var all []question
	for _, stated := range e.study.Claims {
		j, c := e.judge(stated)
		q := question{Answer: lab.Answer{Question: j.ID, Text: quoted(j) + " open again"}}
		switch j.Verdict {
		case lab.ClaimUntestable:
			continue
		case lab.ClaimUndecided:
			q.open = j.Unsteady == ""
		default:
			q.Verdict, q.Text = string(j.Verdict), fmt.Sprintf("%s %s", quoted(j), j.Verdict)
		}
		for _, point := range c.points {
			if q.open && !e.holdsAt(c, point) {
				q.settings = append(q.settings, settingsAt(point, c.variants()...)...)
			}
		}
		all = append(all, q)
	}
	return all
}

// holdsAt reports whether a claim about every point was found to hold at one.
func (e *experiment) holdsAt(c claim, point string) bool {
	if !c.test.EveryPoint || len(c.points) < 2 {
		return false
	}
	c.Claim.Points = []string{point}
	j, _ := e.judge(c.Claim)
	return j.Verdict == lab.ClaimSupported
}

// answerOf returns a comparison as an answer: "cpu of b 1.3x that of a at slow".
func (e *experiment) answerOf(variant, against string, c lab.Comparison) lab.Answer {
	of, at := figure.Spaced(c.Metric)+" of "+variant, fmt.Sprintf("that of %s at %s", against, c.Point.Name)
	a := lab.Answer{Question: of + " against " + at, Verdict: string(c.Verdict)}
	switch c.Verdict {
	case lab.Undecided:
		a.Verdict, a.Text = "", a.Question+" open again"
	case lab.Equivalent:
		a.Text = fmt.Sprintf("%s equivalent to %s", of, at)
	default:
		a.Text = fmt.Sprintf("%s %s %s", of, figure.Times(figure.Alone(c.Ratio.Ratio)), at)
	}
	return a
}
