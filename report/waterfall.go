package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// mostExplained is how many metrics the table of the steps shows, unless all are
// asked for: those that the answer explains.
const mostExplained = 5

// explained are the waterfalls of the study's first metrics that have one.
func (v view) explained(all bool) []lab.Waterfall {
	var metrics []string
	for _, w := range v.Waterfalls {
		if !slices.Contains(metrics, w.Metric) {
			metrics = append(metrics, w.Metric)
		}
	}
	if !all {
		metrics = metrics[:min(mostExplained, len(metrics))]
	}
	return slices.DeleteFunc(slices.Clone(v.Waterfalls), func(w lab.Waterfall) bool { return !slices.Contains(metrics, w.Metric) })
}

// stepsTable shows the steps of the way against the metrics, and what they come to.
func (v view) stepsTable(all bool) table {
	shown := v.explained(all)
	if len(shown) == 0 {
		return table{}
	}
	way := shown[0]
	t := table{ID: "steps", Title: fmt.Sprintf("From %s to %s, one knob at a time", way.From, way.To), Keys: 1, Columns: []column{prose("step")},
		Note: fmt.Sprintf("each step: its variant / the one before it, by block; the last row is their product; ~ equivalent within the margin (%s, or the noise floor), ? undecided; %s%s",
			setting(v.Margin), v.sample(), alongWith(way))}
	several := slices.ContainsFunc(shown, func(w lab.Waterfall) bool { return w.Point.Name != way.Point.Name })
	if !several {
		t.Title += ", at " + way.Point.Name
	}
	for _, w := range shown {
		name := spaced(w.Metric)
		if several && w.Metric != w.Point.Name {
			name += " at " + w.Point.Name
		}
		t.Columns = append(t.Columns, numbers(name))
	}
	for i, s := range way.Steps {
		row := []cell{text(s.Knob + " " + s.Change)}
		for _, w := range shown {
			row = append(row, v.stepCell(w.Metric, w.Steps[i].Ratio, w.Steps[i].Verdict))
		}
		t.add(row...)
	}
	row := []cell{text(way.From + " -> " + way.To)}
	for _, w := range shown {
		row = append(row, v.stepCell(w.Metric, w.Whole, w.Verdict))
	}
	t.add(row...)
	return t
}

// alongWith names what comes with a step without being one: the binding of a split.
func alongWith(w lab.Waterfall) string {
	text := ""
	for _, s := range w.Steps {
		if s.With != "" {
			text += fmt.Sprintf("; with %s %s comes %s", s.Knob, s.Change, s.With)
		}
	}
	return text
}

// stepCell shows a step as a comparison is shown.
func (v view) stepCell(metric string, ratio lab.Ratio, verdict lab.ComparisonVerdict) cell {
	return v.ratioCell(lab.Comparison{Metric: metric, Ratio: ratio, Verdict: verdict}, true)
}
