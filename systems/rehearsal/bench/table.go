//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// measure is a quantity that is held against the truth, with the goals for its median absolute error.
type measure struct {
	name, unit           string
	truth                func(truth) float64
	predicted            func(row) stats.Estimate
	predicting, rehearse figures.Goal
}

func measures() []measure {
	return []measure{
		{"median", "s", func(t truth) float64 { return t.median },
			func(r row) stats.Estimate { return r.answer.Changed.Median }, figures.Goal{Must: 0.15, Stretch: 0.1},
			figures.Goal{Must: 0.12, Stretch: 0.08}},
		{"p99", "s", func(t truth) float64 { return t.p99 },
			func(r row) stats.Estimate { return r.answer.Changed.P99 }, figures.Goal{Must: 0.25, Stretch: 0.15},
			figures.Goal{Must: 0.25, Stretch: 0.15}},
		{"CPU per operation", "s", func(t truth) float64 { return t.cpu },
			func(r row) stats.Estimate { return r.answer.Changed.CPU }, figures.Goal{Must: 0.1, Stretch: 0.05},
			figures.Goal{Must: 0.08, Stretch: 0.05}},
		{"capacity", "1/s", func(t truth) float64 { return t.capacity },
			func(r row) stats.Estimate { return r.answer.Changed.Capacity }, figures.Goal{Must: 0.12, Stretch: 0.06},
			figures.Goal{Must: 0.1, Stretch: 0.05}},
	}
}

// publish prints a line for each placement and rate, and writes the figures over all of them.
func publish(out io.Writer, path string, rows []row) error {
	table := [][]string{{"model of", "what changes", "rate"}}
	for _, m := range measures() {
		table[0] = append(table[0], m.name+": measured", "predicted", "rehearsed")
	}
	table[0] = append(table[0], "withheld by cleave predict")
	for _, r := range rows {
		line := []string{r.of.name(), r.target.String(), fmt.Sprintf("%g/s", r.rate)}
		for _, m := range measures() {
			line = append(line, m.cells(r)...)
		}
		table = append(table, append(line, r.withheld()))
	}
	figure.Columns(out, table)
	fmt.Fprintln(out)
	return figures.Publish(out, path, summary(rows))
}

// withheld says why cleave predict would not answer.
func (r row) withheld() string {
	switch {
	case r.answer == nil:
		return cmp.Or(r.overload, "not predicted: out of time")
	case len(r.answer.Withheld) > 0:
		return r.answer.Withheld[0]
	}
	return "no"
}

// cells returns what was measured, predicted and rehearsed. An interval that holds the truth has a "+" behind
// the error, another one a "-".
func (m measure) cells(r row) []string {
	is := m.truth(r.measured)
	cells := []string{"-", "-", "-"}
	if is > 0 {
		cells[0] = figure.Amount(is, m.unit)
	}
	if r.answer != nil {
		e := m.predicted(r)
		cells[1] = figure.Amount(e.Value, m.unit)
		if is > 0 {
			held := "-"
			if e.Contains(is) {
				held = "+"
			}
			cells[1] += fmt.Sprintf(" (%+.0f %%) %s", 100*(e.Value/is-1), held)
		}
	}
	if played := m.truth(r.rehearsed); played > 0 {
		cells[2] = figure.Amount(played, m.unit)
		if is > 0 {
			cells[2] += fmt.Sprintf(" (%+.0f %%)", 100*(played/is-1))
		}
	}
	return cells
}

// summary returns the median absolute errors over all rows, and over those that cleave predict would answer.
// Of these alone it says how many intervals hold the truth: a failed self-check widens an interval until it
// holds anything.
func summary(rows []row) (all []figures.Figure) {
	add := func(name string, errors []float64, goal figures.Goal) {
		if len(errors) > 0 {
			all = append(all, figures.Median(name, "1", lab.LowerIsBetter, errors).To(goal))
		}
	}
	for _, m := range measures() {
		var predicted, answered, rehearsed []float64
		held, of := 0, 0
		for _, r := range rows {
			is := m.truth(r.measured)
			if is == 0 {
				continue
			}
			if r.answer != nil {
				off := math.Abs(m.predicted(r).Value/is - 1)
				predicted = append(predicted, off)
				if len(r.answer.Withheld) == 0 {
					answered = append(answered, off)
					of++
					if m.predicted(r).Contains(is) {
						held++
					}
				}
			}
			if played := m.truth(r.rehearsed); played > 0 {
				rehearsed = append(rehearsed, math.Abs(played/is-1))
			}
		}
		add("predicted "+m.name+", absolute error", predicted, m.predicting)
		add("predicted "+m.name+", absolute error where cleave predict answers", answered, m.predicting)
		add("rehearsed "+m.name+", absolute error", rehearsed, m.rehearse)
		if of > 0 {
			share := figures.Median("intervals of the "+m.name+" that hold the truth where it answers", "1",
				lab.HigherIsBetter, []float64{float64(held) / float64(of)})
			share.N = of
			all = append(all, share.To(figures.Goal{Must: 0.85, Stretch: 0.9}))
		}
	}
	return all
}
