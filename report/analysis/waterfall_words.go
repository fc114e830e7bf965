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

// mostExplained bounds how many metrics the answer explains.
const mostExplained = 6

// noWay is said where there is nothing to be explained with.
const noWay = "No block holds every step of the way: nothing can be said of where the difference comes from."

// saysWaterfalls tells where the difference between the two ends comes from: of
// the study's first metrics, each where it was measured, and whether the order of
// the steps changes that.
func (e *experiment) saysWaterfalls(all []lab.Waterfall) []string {
	if len(all) == 0 {
		return []string{noWay}
	}
	var explained []string
	for _, m := range e.study.AllMetrics() {
		if slices.ContainsFunc(all, func(w lab.Waterfall) bool { return w.Metric == m.Name }) &&
			len(explained) < mostExplained {
			explained = append(explained, m.Name)
		}
	}
	told := slices.DeleteFunc(slices.Clone(all), func(w lab.Waterfall) bool {
		return !slices.Contains(explained, w.Metric)
	})
	texts := e.saysUnheld(told)
	for _, w := range told {
		texts = append(texts, e.saysWaterfall(w))
	}
	if several(all[0]) {
		return append(texts, severalKnobs)
	}
	return append(texts, e.saysInteractions(told))
}

// saysWay tells of a study that answers by its claims, in a sentence, where the
// difference between the ends of its way comes from: in the first metric of it.
func (e *experiment) saysWay(a lab.Analysis) string {
	if len(e.study.Steps) == 0 || e.study.Explains() {
		return ""
	}
	if len(a.Waterfalls) == 0 {
		return noWay
	}
	texts := append(e.saysUnheld(a.Waterfalls[:1]), e.saysWaterfall(a.Waterfalls[0]))
	if several(a.Waterfalls[0]) {
		texts = append(texts, severalKnobs)
	}
	return strings.Join(texts, " ")
}

// severalKnobs is said of steps that were not made to turn one.
const severalKnobs = "Such a step turns several knobs at once; cleave explain turns them one at a time."

// several reports whether some step between variants of the study turns more than
// one knob.
func several(w lab.Waterfall) bool {
	return slices.ContainsFunc(w.Steps, func(s lab.Step) bool { return s.Name != "" && len(s.Changes) > 1 })
}

// saysUnheld warns of steps that did not hold the rate they were compared at.
func (e *experiment) saysUnheld(all []lab.Waterfall) []string {
	var texts []string
	for _, w := range all {
		var fallen []string
		for _, name := range stops(e.way(1)) {
			if !e.mostHeld(e.counted(name, w.Point.Name)) {
				fallen = append(fallen, name)
			}
		}
		if len(fallen) > 0 {
			text := fmt.Sprintf("At %s not every step held the rate (%s did not): times there grow with the length "+
				"of the load, and what follows on them is no property of the architectures.",
				w.Point.Name, strings.Join(fallen, ", "))
			if e.study.Explains() {
				text += " Explain at a lower rate."
			}
			texts = appendNew(texts, text)
		}
	}
	return texts
}

// saysWaterfall tells one metric: the whole, then the steps, the largest first.
func (e *experiment) saysWaterfall(w lab.Waterfall) string {
	metric, _ := e.metric(w.Metric)
	from, _ := e.middle(w.From, w.Point.Name, w.Metric)
	to, _ := e.middle(w.To, w.Point.Name, w.Metric)
	said := fmt.Sprintf("from %s to %s it is %s, %s", w.From, w.To, times(w.Whole), w.Words)
	if len(w.Steps) > 1 {
		said = saysSteps(w, said)
	}
	if len(w.Stretches) == 2 {
		split, tuning := w.Stretches[0], w.Stretches[1]
		said += fmt.Sprintf(". Up to %s, the last stock variant, it is %s; tuning makes %s of that (%s)", split.To,
			times(split.Ratio), times(tuning.Ratio), tuning.Words)
	}
	return fmt.Sprintf("%s at %s (%s, then %s): %s.", capital(metric.Title), w.Point.Name,
		figure.Quantity(from, nil, nil, metric.Unit), figure.Quantity(to, nil, nil, metric.Unit), said)
}

// saysSteps tells what the steps make of the whole.
func saysSteps(w lab.Waterfall, whole string) string {
	parts := sortSteps(w)
	said := []string{whole}
	decided := w.Verdict == lab.Slower || w.Verdict == lab.Faster
	switch {
	case decided && len(parts.along) > 0:
		said[0] = fmt.Sprintf("of the %s from %s to %s, %s", times(w.Whole), w.From, w.To,
			listed(parts.along, "comes from"))
	case decided:
		said[0] = fmt.Sprintf("of the %s from %s to %s no single step is clear of the margin", times(w.Whole),
			w.From, w.To)
	case len(parts.along) > 0:
		said = append(said, listed(parts.along, "comes from"))
	}
	if len(parts.against) > 0 {
		said = append(said, "the other way: "+listed(parts.against, "from"))
	}
	if len(parts.same) > 0 {
		said = append(said, "equivalent: "+strings.Join(names(parts.same), ", "))
	}
	if len(parts.unknown) > 0 {
		said = append(said, "undecided: "+strings.Join(names(parts.unknown), ", "))
	}
	return strings.Join(said, "; ")
}

// sorted are the steps of a waterfall by what they do to the whole.
type sorted struct{ along, against, same, unknown []lab.Step }

// sortSteps sorts the steps, the largest first.
func sortSteps(w lab.Waterfall) sorted {
	steps := slices.Clone(w.Steps)
	slices.SortStableFunc(steps, func(a, b lab.Step) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio.Ratio)), math.Abs(math.Log(a.Ratio.Ratio)))
	})
	var s sorted
	for _, step := range steps {
		switch {
		case step.Verdict == lab.Equivalent:
			s.same = append(s.same, step)
		case step.Verdict == lab.Undecided:
			s.unknown = append(s.unknown, step)
		case step.Ratio.Ratio > 1 == (w.Whole.Ratio > 1):
			s.along = append(s.along, step)
		default:
			s.against = append(s.against, step)
		}
	}
	return s
}

// listed tells steps with their ratios: "1.9x comes from placement together ->
// apart, 1.3x from data shared -> databases".
func listed(steps []lab.Step, verb string) string {
	var parts []string
	for i, s := range steps {
		if i > 0 {
			verb = "from"
		}
		parts = append(parts, fmt.Sprintf("%s %s %s", times(s.Ratio), verb, s.Title()))
	}
	return strings.Join(parts, ", ")
}

// names are what the steps turn.
func names(steps []lab.Step) []string {
	var named []string
	for _, s := range steps {
		named = append(named, fmt.Sprintf("%s (%s)", s.Title(), times(s.Ratio)))
	}
	return named
}

// saysInteractions tells where the order of the steps changes the answer, and
// where nothing of that kind was seen or looked for.
func (e *experiment) saysInteractions(all []lab.Waterfall) string {
	var found []string
	looked, undecided := 0, 0
	for _, w := range all {
		metric, _ := e.metric(w.Metric)
		for _, i := range w.Interactions {
			looked++
			switch {
			case i.Matters:
				found = append(found, fmt.Sprintf("for %s (%s at %s) it is %s in the order shown and %s in the other",
					i.Knob, metric.Title, w.Point.Name, times(i.First), times(i.Second)))
			case !strings.HasPrefix(i.Words, sameInBoth):
				undecided++
			}
		}
	}
	other := ""
	if way := e.way(2); len(way) > 0 {
		other = " (" + strings.Join(stops(way), ", ") + ")"
	}
	switch {
	case looked == 0 && len(e.way(1)) < 2:
		return ""
	case looked == 0:
		return "The steps were taken in one order only: in another order the same knobs may have other shares of " +
			"the whole."
	case len(found) > 0:
		return fmt.Sprintf("The order of the steps changes the answer: %s. Such a share belongs to no knob alone.",
			some(found))
	case undecided > 0:
		return fmt.Sprintf("In another order of the steps%s no share is found to be another; %d of %d stay "+
			"undecided.", other, undecided, looked)
	}
	return fmt.Sprintf("In another order of the steps%s the shares are the same within the margin: the knobs "+
		"act alone.", other)
}

// times writes a ratio with its interval.
func times(r lab.Ratio) string { return figure.Times(r.Ratio, r.Low, r.High) }

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
