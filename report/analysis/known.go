package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// Answers implements lab.StoppingRule. They are about what Needed plays on for: claims,
// else ways, else pairs of variants.
func (r Rule) Answers(played []lab.Trial) []lab.Answer {
	in := r.Input
	in.Trials = played
	e := newExperiment(in)
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
		a := lab.Answer{Question: j.ID, Text: j.ID + " open again"}
		if j.Verdict != lab.ClaimUndecided {
			a.Verdict, a.Text = string(j.Verdict), fmt.Sprintf("%s %s", j.ID, j.Verdict)
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
	of, at := spaced(c.Metric)+" of "+variant, fmt.Sprintf("that of %s at %s", against, c.Point.Name)
	a := lab.Answer{Question: of + " against " + at, Verdict: string(c.Verdict)}
	switch c.Verdict {
	case lab.Undecided:
		a.Verdict, a.Text = "", a.Question+" open again"
	case lab.Equivalent:
		a.Text = fmt.Sprintf("%s equivalent to %s", of, at)
	default:
		a.Text = fmt.Sprintf("%s %s %s", of, figure.Times(c.Ratio.Ratio, nil, nil), at)
	}
	return a
}
