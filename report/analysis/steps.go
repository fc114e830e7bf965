package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// noCommonBlock is the finding if no block holds every step.
const noCommonBlock = "No block holds every step of the way: nothing can be said of where the " +
	"difference comes from."

// severalKnobs is the finding about steps that change several knobs at once.
const severalKnobs = "A step between variants changes several things at once; cleave explain changes " +
	"one at a time."

// stepSentences returns a sentence on the change of each metric over all steps and on its origin, and one on
// the order of the steps. Studies that do not explain have a sentence on the first metric only. Levels that
// the subject's findings have, and what the headline h shows, are not repeated.
func (e *experiment) stepSentences(a lab.Analysis, s subject, h *lab.Headline) []string {
	if !e.showsSteps() {
		return nil
	}
	if len(a.Waterfalls) == 0 {
		return []string{noCommonBlock}
	}
	waterfalls := lab.ExplainedWaterfalls(a.Waterfalls)
	if !e.study.Explains() {
		waterfalls = waterfalls[:1]
	}
	var texts []string
	for _, w := range waterfalls {
		if text := e.unheldSentence("step", ", and are no property of the architectures", stepVariants(e.steps(1)),
			w.Point.Name); text != "" {
			texts = appendNew(texts, text)
		}
	}
	for _, w := range waterfalls {
		inSentence := leads(h, w.Metric, w.Point.Name)
		inFindings := w.Point.Name == s.point && isAmong(s.metrics, w.Metric)
		switch {
		case e.study.Explains():
			texts = append(texts, e.waterfallSentence(w, inSentence, false))
		case !inSentence:
			texts = append(texts, e.waterfallSentence(w, false, inFindings))
		}
	}
	if changesSeveral(waterfalls[0]) {
		texts = append(texts, severalKnobs)
	} else if text := e.interactionsSentence(waterfalls); text != "" && e.study.Explains() {
		texts = append(texts, text)
	}
	return texts
}

// leads reports whether a headline begins with a metric at a point.
func leads(h *lab.Headline, metric, point string) bool {
	return h != nil && len(h.Bars) > 0 && h.Bars[0].Metric == metric && h.Bars[0].Point == point
}

// changesSeveral reports whether some step between variants of the study changes more than
// one knob.
func changesSeveral(w lab.Waterfall) bool {
	return slices.ContainsFunc(w.Steps, func(s lab.Step) bool { return s.Name != "" && len(s.Changes) > 1 })
}

// unheldSentence returns a warning about variants that did not hold the rate of a point at which they are
// compared, "" if all did. It calls them by a noun, "step" or "run", and adds the text more to its reason.
func (e *experiment) unheldSentence(noun, more string, variants []string, point string) string {
	unheld := filter(variants, func(name string) bool { return !allOf(e.counted(name, point), e.held) })
	if len(unheld) == 0 {
		return ""
	}
	text := fmt.Sprintf("At %s not every %s held the rate (%s did not): times there grow with the length of "+
		"the load%s.", point, noun, some(unheld), more)
	if e.study.Explains() || e.study.Factorial != nil {
		text += " Explain at a lower rate."
	}
	return text
}

// waterfallSentence returns the level of a metric at both ends of the steps, and the origin of the
// difference; the table of the steps has the ratios. It leaves out the origin if the sentence of the answer
// has it (inSentence), and the levels if another finding has them (levelsKnown).
func (e *experiment) waterfallSentence(w lab.Waterfall, inSentence, levelsKnown bool) string {
	metric, _ := e.metric(w.Metric)
	text := e.levelsText(metric, w.Point.Name, []string{w.From, w.To})
	if levelsKnown {
		text = fmt.Sprintf("From %s to %s, %s%s", w.From, w.To, metric.Title, e.placeOf(metric, w.Point.Name))
	}
	origin := strings.TrimPrefix(e.plainOrigin(w), "; ")
	switch {
	case inSentence && origin != "":
		origin = ""
	case w.Verdict == lab.Undecided:
		origin = "the data do not decide whether they differ"
	case w.Verdict == lab.Equivalent:
		origin = "they are equivalent"
	case origin == "" && len(w.Steps) > 1:
		origin = "no single step is clear of the margin"
	}
	if origin != "" {
		text += "; " + origin
	}
	return text + opposingText(w) + tuningText(w) + "."
}

// opposingText names the decided steps whose effect is opposite to that of a decided whole, "" without any.
func opposingText(w lab.Waterfall) string {
	if w.Verdict == lab.Undecided {
		return ""
	}
	var names []string
	for _, s := range w.Steps {
		isOpposite := s.Ratio.Ratio > 1 != (w.Whole.Ratio > 1)
		if s.Verdict.Differs() && isOpposite {
			names = append(names, s.Label())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; the other way: " + some(names)
}

// tuningText describes the effect of tuning, as a share of the change up to the last stock variant if tuning
// takes back some of it. Shares are of logarithms, because these add up over steps.
func tuningText(w lab.Waterfall) string {
	if len(w.Stretches) != 2 {
		return ""
	}
	split, tuning := w.Stretches[0], w.Stretches[1]
	part := -math.Log(tuning.Ratio.Ratio) / math.Log(split.Ratio.Ratio)
	switch {
	case tuning.Verdict == lab.Undecided:
		return fmt.Sprintf("; what tuning makes of it after %s is undecided", split.To)
	case tuning.Verdict == lab.Equivalent:
		return fmt.Sprintf("; tuning after %s makes no difference", split.To)
	case !split.Verdict.Differs():
		return fmt.Sprintf("; tuning after %s makes it %s", split.To, times(tuning.Ratio))
	case part > 0:
		return fmt.Sprintf("; tuning takes back %s of what the way to %s changes", shareText(part), split.To)
	}
	return fmt.Sprintf("; tuning after %s adds to it", split.To)
}

// originText returns the origin of the first waterfall that has one, "" if none has.
func (e *experiment) originText(waterfalls []lab.Waterfall) string {
	for _, w := range waterfalls {
		if origin := e.plainOrigin(w); origin != "" {
			return origin
		}
	}
	return ""
}

// decidedStep is a step whose own ratio is decided.
type decidedStep struct {
	judged
	label     string
	waterfall lab.Waterfall
}

// largestStep returns the largest decided step, for waterfalls without a decided whole.
func (e *experiment) largestStep(waterfalls []lab.Waterfall) (largest decidedStep, found bool) {
	for _, w := range waterfalls {
		m, _ := e.metric(w.Metric)
		for _, s := range w.Steps {
			step := decidedStep{judged{m, w.Point.Name, s.Variant, s.Before, s.Ratio, s.Verdict}, s.Label(), w}
			if step.verdict.Differs() && step.effect() > largest.effect() {
				largest, found = step, true
			}
		}
	}
	return largest, found
}

// plainOrigin names the step, or the two steps, with the largest share of a whole, for the end of a sentence:
// "; most of the cost comes from a saga". It is "" if no step is decided. Shares are of logarithms, because
// these add up over steps.
func (e *experiment) plainOrigin(w lab.Waterfall) string {
	whole := math.Log(w.Whole.Ratio)
	if !w.Verdict.Differs() || whole == 0 {
		return ""
	}
	share := func(s lab.Step) float64 { return math.Log(s.Ratio.Ratio) / whole }
	origins := filter(w.Steps, func(s lab.Step) bool { return s.Verdict.Differs() && share(s) >= 0 })
	slices.SortStableFunc(origins, func(a, b lab.Step) int { return cmp.Compare(share(b), share(a)) })
	if len(origins) == 0 {
		return ""
	}
	from := e.stepText(origins[0])
	part := share(origins[0])
	if len(origins) > 1 && part < 0.4 {
		from = from + " and from " + e.stepText(origins[1])
		part += share(origins[1])
	}
	return fmt.Sprintf("; %s of the %s comes from %s", shareText(part), e.effectName(w), from)
}

// effectName names the difference that a waterfall explains: "cost", "time" or "difference".
func (e *experiment) effectName(w lab.Waterfall) string {
	if m, _ := e.metric(w.Metric); m.Kind == lab.KindCost && w.Whole.Ratio > 1 {
		return cmp.Or(m.Phrase, "cost")
	} else if m.Kind == lab.KindTime && w.Whole.Ratio > 1 {
		return "time"
	}
	return "difference"
}

// stepText returns the knob values after and before a step: "a saga of events in place of a saga". For a step
// with a name it returns the name.
func (e *experiment) stepText(s lab.Step) string {
	if s.Name != "" || len(s.Changes) == 0 {
		return s.Label()
	}
	var before []string
	for _, c := range s.Changes {
		before = append(before, e.knobText(c.Knob, c.From))
	}
	return e.changesText(s.Changes) + " in place of " + figure.And(before)
}

// plainStep returns the knob values after a step, "" for a step with a name.
func (e *experiment) plainStep(s lab.PathStep) string {
	if s.Name != "" {
		return ""
	}
	return e.changesText(s.Changes)
}

// changesText returns the knob values after some changes: "a saga".
func (e *experiment) changesText(changes []lab.KnobChange) string {
	var all []string
	for _, c := range changes {
		all = append(all, e.knobText(c.Knob, c.To))
	}
	return figure.And(all)
}

// knobText returns the system's text for the value of a knob, else the knob and its value.
func (e *experiment) knobText(knob, value string) string {
	for _, a := range e.in.System.Architectures {
		for _, k := range a.Knobs {
			if k.Name == knob && k.Means[value] != "" {
				return k.Means[value]
			}
		}
	}
	return figure.Spaced(knob) + " " + value
}

// shareText describes a share of a whole: "half", "most".
func shareText(share float64) string {
	switch {
	case share > 1.1:
		return "more than all"
	case share > 0.85:
		return "nearly all"
	case share > 0.6:
		return "most"
	case share > 0.4:
		return "half"
	case share > 0.28:
		return "a third"
	}
	return figure.Percent(share)
}

// interactionsSentence says whether the order of the steps changes the answer, or that only one order was
// played.
func (e *experiment) interactionsSentence(all []lab.Waterfall) string {
	var found []string
	tested, undecided := 0, 0
	for _, w := range all {
		metric, _ := e.metric(w.Metric)
		for _, i := range w.Interactions {
			tested++
			switch {
			case i.Matters:
				found = append(found, fmt.Sprintf("%s (%s%s) makes %s in the order shown and %s in the other",
					i.Plain, metric.Title, e.placeOf(metric, w.Point.Name), times(i.First), times(i.Second)))
			case !strings.HasPrefix(i.Words, sameInBoth):
				undecided++
			}
		}
	}
	switch {
	case tested == 0 && len(e.steps(1)) < 2:
		return ""
	case tested == 0:
		return "The steps were taken in one order only: in another the same changes may have other shares of the " +
			"whole."
	case len(found) > 0:
		return fmt.Sprintf("The order of the steps changes the answer: %s. Such a share belongs to no change "+
			"alone.", some(found))
	case undecided > 0:
		return fmt.Sprintf("In another order of the steps no share is found to be another; %d of %d stay "+
			"undecided.", undecided, tested)
	}
	return "In another order of the steps the shares are the same within the margin: each change acts alone."
}
