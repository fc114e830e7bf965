package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// stepsTable shows the ratios of the steps, of the stretches (several steps together) and of the whole, with
// a column for each waterfall: for all of them, or only for those of lab.ExplainedWaterfalls that the
// headline's bars do not show. All waterfalls of a study have the same steps.
func (v view) stepsTable(all bool) table {
	shown := v.Waterfalls
	if !all {
		shown = filter(lab.ExplainedWaterfalls(shown),
			func(w lab.Waterfall) bool { return !v.headlineShows(w.Metric, w.To, w.Point.Name) })
	}
	if len(shown) == 0 {
		return table{}
	}
	first := shown[0]
	t := table{ID: "steps", Title: fmt.Sprintf("From %s to %s, %s", first.From, first.To, v.pace()), Keys: 1,
		Columns: columns{}.prose("step"),
		Note: fmt.Sprintf("each step: its variant / the one before it, by block; the last row is their product; "+
			"~ equivalent within the margin (%s, or a bias), ? undecided; %s", figure.Setting(v.Margin), v.sample())}
	if all {
		t.Note += alongWith(first)
	}
	if !atSeveralPoints(shown) {
		t.Title += ", at " + first.Point.Name
	}
	for _, w := range shown {
		t.Columns = t.Columns.number(waterfallHead(w, shown))
	}
	row := func(name string, of func(lab.Waterfall) cell) {
		t.add(name, cells(shown, of))
	}
	for i, s := range first.Steps {
		row(s.Label(), func(w lab.Waterfall) cell {
			return judgedCell(w.Steps[i].Ratio, w.Steps[i].Verdict)
		})
	}
	for i, s := range first.Stretches {
		row(s.From+" -> "+s.To, func(w lab.Waterfall) cell {
			return judgedCell(w.Stretches[i].Ratio, w.Stretches[i].Verdict)
		})
	}
	row(first.From+" -> "+first.To, func(w lab.Waterfall) cell { return judgedCell(w.Whole, w.Verdict) })
	return t
}

// waterfallHead returns the metric of one of several waterfalls, with its point if their points differ. It
// does not repeat a point with the name of the metric, such as that at which cleave explain searches for the
// capacity.
func waterfallHead(w lab.Waterfall, among []lab.Waterfall) string {
	if atSeveralPoints(among) && w.Metric != w.Point.Name {
		return figure.Spaced(w.Metric) + " at " + w.Point.Name
	}
	return figure.Spaced(w.Metric)
}

// atSeveralPoints reports whether waterfalls are at different points.
func atSeveralPoints(all []lab.Waterfall) bool {
	return slices.ContainsFunc(all, func(w lab.Waterfall) bool { return w.Point.Name != all[0].Point.Name })
}

// hasNamedSteps reports whether steps have names. Such steps lead from one variant of the study to the next
// and may change several knobs, which their names do not list.
func hasNamedSteps(w lab.Waterfall) bool {
	return slices.ContainsFunc(w.Steps, func(s lab.Step) bool { return s.Name != "" })
}

// pace describes the size of the steps.
func (v view) pace() string {
	if slices.ContainsFunc(v.Waterfalls, hasNamedSteps) {
		return "variant by variant"
	}
	return "one knob at a time"
}

// limitOfSteps returns a warning about what the bars of the steps do not show.
func (v view) limitOfSteps() string {
	if slices.ContainsFunc(v.Waterfalls, hasNamedSteps) {
		return "A step turns several knobs at once where its two variants differ in several: the bar is the " +
			"price of all of them together. The table lists them; cleave explain turns one at a time."
	}
	return "Where a knob's effect depends on the order of the steps, no bar is its own price: the table says so."
}

// explains reports whether the study is about steps or factors; see lab.Study.Explains.
func (v view) explains() bool {
	hasSteps := len(v.Waterfalls) > 0 && len(v.Claims) == 0
	return hasSteps || v.Factorial != nil
}

// alongWith lists the knobs that come with a step, such as the binding of a split, and all
// changes of steps with a name.
func alongWith(w lab.Waterfall) string {
	text := ""
	if hasNamedSteps(w) {
		text = "; cleave explain turns one knob at a time"
	}
	for _, s := range w.Steps {
		if s.Name != "" || s.With != "" {
			text += fmt.Sprintf("; %s: %s", s.Label(), s.Turned())
		}
	}
	return text
}

// headlineShows reports whether the headline's bars show the ratio of a variant in a metric. A total and its
// value per operation have the same ratio, since the number of operations at a point is the same.
func (v view) headlineShows(metric, variant, point string) bool {
	if v.Answer.Headline == nil {
		return false
	}
	m := v.metric(metric)
	return slices.ContainsFunc(v.Answer.Headline.Bars, func(b lab.Bar) bool {
		return b.Variant == variant && b.Point == point && sameButPer(v.metric(b.Metric), m)
	})
}

// sameButPer reports whether two metrics are the same, or differ only in what they are per.
func sameButPer(a, b lab.Metric) bool {
	if a.Name == b.Name {
		return true
	}
	return a.Quantity != "" && a.Quantity == b.Quantity && a.Quantile == b.Quantile
}

// waterfallSection shows the steps from one architecture to another.
func (v view) waterfallSection() section {
	s := section{ID: "waterfall", Title: "Where the cost comes from", Wide: true,
		Caption: fmt.Sprintf("%s: every bar is a step's ratio to the step before it, on a log axis, and begins "+
			"where the last one ended; whiskers: %s intervals of the step; %s. "+
			"The last bar is the whole way, the product of the steps. Red: worse, green: better, grey: equivalent "+
			"or undecided.", sentenceCase(v.pace()), figure.Setting(v.Confidence), v.sample()),
		HowTo: "Bars to the right cost more of what the plot measures, bars to the left less; where more is " +
			"better, left is the loss. On a log axis equal lengths are equal factors, and the steps multiply to the " +
			"whole. " + v.limitOfSteps()}
	explained := lab.ExplainedWaterfalls(v.Waterfalls)
	for i, w := range v.Waterfalls {
		s.Folded = append(s.Folded, v.waterfallTable(i, w))
		if !slices.ContainsFunc(explained, func(x lab.Waterfall) bool { return x.Metric == w.Metric }) {
			continue
		}
		title := v.metric(w.Metric).Title + " at " + v.at(w.Point.Name)
		if p := barsPlot(fmt.Sprintf("plot-waterfall-%d", i), w.Chart(title)); p != nil {
			s.Plots = append(s.Plots, *p)
		}
	}
	s.Shown = []table{v.stepsTable(false), v.interactionTable()}
	return s
}

// waterfallTable shows one waterfall, step by step.
func (v view) waterfallTable(i int, w lab.Waterfall) table {
	head := "knob"
	if hasNamedSteps(w) {
		head = "variants"
	}
	t := table{ID: fmt.Sprintf("way-%d", i), Title: fmt.Sprintf("%s to %s: %s at %s", w.From, w.To,
		v.metric(w.Metric).Title, v.at(w.Point.Name)), Keys: 2,
		Note: "each step: variant / the one before it, by block; so far: the product of the steps; " +
			v.sample(),
		Columns: columns{}.text(head).prose("change").number("step").text("verdict").number("so far")}
	product := 1.0
	for _, s := range w.Steps {
		product *= s.Ratio.Ratio
		name, change := s.Knob, s.Change
		if s.Name != "" {
			name = s.Name
			change = s.Turned()
		}
		t.add(name, change, times(s.Ratio), verdictCell(s.Verdict), figure.Multiple(product))
	}
	if len(w.Steps) > 0 {
		t.add("whole way", w.From+" -> "+w.To, times(w.Whole), verdictCell(w.Verdict), figure.Multiple(product))
	}
	return t
}

// interactionTable shows the changes that were made in two orders of the steps.
func (v view) interactionTable() table {
	t := table{ID: "interactions", Title: "Does the order of the steps matter?", Keys: 2,
		Note: "a change's ratio on the way shown, on the other way, and one over the other by block; " +
			v.sample(),
		Columns: columns{}.text("metric", "change").number("this way", "other way", "one / other").
			text("matters").prose("in words")}
	for _, w := range v.Waterfalls {
		for _, i := range w.Interactions {
			matters := toned("no", toneMuted)
			if i.Matters {
				matters = toned("yes", toneWarn)
			}
			change := cmp.Or(i.Plain, i.Knob)
			t.add(waterfallHead(w, v.Waterfalls), change, times(i.First), times(i.Second), times(i.OfRatios),
				matters, i.Words)
		}
	}
	return t
}
