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
// claims what they need no more, of one that explains whole ways, else pairs of variants
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
	open := e.open()
	return func(planned lab.PlannedTrial) bool {
		name := planned.Variant
		if v, known := e.study.Variant(name); known && v.TwinOf != "" {
			name = v.TwinOf
		}
		return slices.Contains(open, seat{name, planned.Point})
	}
}

// seat is a variant at a point.
type seat struct{ variant, point string }

// open returns the variants, and where, of which more must be known.
func (e *experiment) open() []seat {
	switch {
	case e.study.Explains():
		return e.openWays()
	case len(e.study.Claims) > 0:
		return e.openClaims()
	}
	var open []seat
	for _, c := range e.comparisons() {
		if c.Verdict == lab.Undecided && (c.Unsteady == "" || e.canLengthen(c.Point.Name)) &&
			slices.Contains(e.answered(), c.Metric) {
			open = append(open, seat{c.Variant, c.Point.Name}, seat{c.Baseline, c.Point.Name})
		}
	}
	return open
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

// openWays returns all stops of a way at the points where a step, or the whole, is
// undecided, and not for a change within trials, which more of them do not end: its ratios are over the
// blocks that have every stop.
func (e *experiment) openWays() []seat {
	all := e.waterfalls()
	var open []seat
	for _, point := range e.stepPoints(e.way(1)) {
		undecided := len(all) == 0
		for _, w := range all {
			if w.Point.Name == point.Name && slices.Contains(e.answered(), w.Metric) {
				undecided = undecided || w.Verdict == lab.Undecided && w.Unsteady == "" ||
					slices.ContainsFunc(w.Steps, func(s lab.Step) bool {
						return s.Verdict == lab.Undecided && s.Unsteady == ""
					})
			}
		}
		for _, name := range stops(e.study.Steps) {
			if undecided {
				open = append(open, seat{name, point.Name})
			}
		}
	}
	return open
}

// openClaims returns the variants of undecided claims. A claim about every point by itself
// needs those no more at which it was found to hold.
func (e *experiment) openClaims() []seat {
	var open []seat
	for _, stated := range e.study.Claims {
		j, c := e.tested(stated)
		if j.Verdict != lab.ClaimUndecided || j.Unsteady != "" {
			continue
		}
		for _, point := range c.points {
			if e.holdsAt(c, point) {
				continue
			}
			open = append(open, seat{c.Variant, point})
			if c.Against != "" {
				open = append(open, seat{c.Against, point})
			}
		}
	}
	return open
}

// holdsAt reports whether a claim about every point was found to hold at one.
func (e *experiment) holdsAt(c claim, point string) bool {
	if !c.test.EveryPoint || len(c.points) < 2 {
		return false
	}
	c.Claim.Points = []string{point}
	j, _ := e.tested(c.Claim)
	return j.Verdict == lab.ClaimSupported
}

// Answers implements lab.StoppingRule. They are about what Needed plays on for: claims,
// else ways, else pairs of variants.
func (r Rule) Answers(played []lab.Trial) []lab.Answer {
	e := r.after(played)
	switch {
	case e.study.Explains():
		return e.wayAnswers()
	case len(e.study.Claims) > 0:
		return e.claimAnswers()
	}
	var all []lab.Answer
	for _, c := range e.comparisons() {
		if slices.Contains(e.answered(), c.Metric) {
			all = append(all, e.answerOf(c.Variant, c.Baseline, c))
		}
	}
	return all
}

// claimAnswers are about the claims that can be tested with what was played so far.
func (e *experiment) claimAnswers() []lab.Answer {
	var all []lab.Answer
	for _, j := range e.judgeClaims() {
		if j.Verdict == lab.ClaimUntestable {
			continue
		}
		a := lab.Answer{Question: j.ID, Text: quoted(j) + " open again"}
		if j.Verdict != lab.ClaimUndecided {
			a.Verdict, a.Text = string(j.Verdict), fmt.Sprintf("%s %s", quoted(j), j.Verdict)
		}
		all = append(all, a)
	}
	return all
}

// wayAnswers are about the ways as a whole, then about their steps.
func (e *experiment) wayAnswers() []lab.Answer {
	var wholes, steps []lab.Answer
	for _, w := range e.waterfalls() {
		if !slices.Contains(e.answered(), w.Metric) {
			continue
		}
		of := lab.Comparison{Metric: w.Metric, Point: w.Point, Ratio: w.Whole, Verdict: w.Verdict}
		wholes = append(wholes, e.answerOf(w.To, w.From, of))
		for _, s := range w.Steps {
			of.Ratio, of.Verdict = s.Ratio, s.Verdict
			steps = append(steps, e.answerOf(s.Variant, s.Before, of))
		}
	}
	return append(wholes, steps...)
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
