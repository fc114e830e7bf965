//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// measure is a figure that is compared with the truth, with the goals for its median absolute error.
type measure struct {
	name, unit           string
	predicted            func(*predict.Answer) stats.Estimate // not widened by past errors
	withheld             func(*predict.Answer) bool           // whether an answer withholds it alone
	predicting, rehearse figures.Goal
}

// measures returns the figures in the order of the table's columns.
func measures() []measure {
	never := func(*predict.Answer) bool { return false }
	return []measure{
		{predict.FigureMedian, "s", func(a *predict.Answer) stats.Estimate { return a.Changed.Median },
			never, figures.Goal{Must: 0.15, Stretch: 0.1}, figures.Goal{Must: 0.12, Stretch: 0.08}},
		{predict.FigureP99, "s", func(a *predict.Answer) stats.Estimate { return a.Changed.P99 },
			func(a *predict.Answer) bool { return a.TailWithheld }, figures.Goal{Must: 0.25, Stretch: 0.15},
			figures.Goal{Must: 0.25, Stretch: 0.15}},
		{predict.FigureCPU, "s", func(a *predict.Answer) stats.Estimate { return a.Changed.CPU },
			never, figures.Goal{Must: 0.1, Stretch: 0.05}, figures.Goal{Must: 0.08, Stretch: 0.05}},
		{predict.FigureCapacity, "1/s", func(a *predict.Answer) stats.Estimate { return a.Changed.Capacity },
			func(a *predict.Answer) bool { return a.CapacityWithheld }, figures.Goal{Must: 0.12, Stretch: 0.06},
			figures.Goal{Must: 0.1, Stretch: 0.05}},
	}
}

// answered reports whether cleave predict would print the figure of a row.
func (m measure) answered(r row) bool {
	return r.answer != nil && len(r.answer.Withheld) == 0 && !m.withheld(r.answer)
}

// interval returns the predicted figure of a row with the interval that cleave predict would print if it knew
// no past of the row's system.
func (m measure) interval(r row, past predict.Past) stats.Estimate {
	return past.Without(r.of.system).Widened(m.name, m.predicted(r.answer))
}

// pastPredictions returns by how much the measured values missed the predicted intervals (predict.Beyond),
// for the figures that cleave predict would print.
func pastPredictions(rows []row) (all predict.Past) {
	for _, r := range rows {
		one := predict.PastPrediction{System: r.of.system, Change: r.of.name() + ": " + r.target.String(),
			Rate: r.rate, Beyond: map[string]float64{}}
		for _, m := range measures() {
			if is := r.measured[m.name]; is > 0 && m.answered(r) {
				one.Beyond[m.name] = math.Round(1e4*predict.Beyond(m.predicted(r.answer), is)) / 1e4
			}
		}
		if len(one.Beyond) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// publish prints a line for each placement and rate, and writes the figures over all of them. Intervals are
// as wide as the past of other systems says.
func publish(out io.Writer, path string, rows []row, past predict.Past) error {
	table := [][]string{{"model of", "what changes", "rate"}}
	for _, m := range measures() {
		table[0] = append(table[0], m.name+": measured", "predicted", "rehearsed")
	}
	table[0] = append(table[0], "withheld by cleave predict")
	for _, r := range rows {
		line := []string{r.of.name(), r.target.String(), fmt.Sprintf("%g/s", r.rate)}
		for _, m := range measures() {
			line = append(line, m.cells(r, past)...)
		}
		table = append(table, append(line, r.withheld()))
	}
	figure.Columns(out, table)
	fmt.Fprintln(out)
	return figures.Publish(out, path, summary(rows, past))
}

// withheld says why cleave predict would not answer.
func (r row) withheld() string {
	switch {
	case r.answer == nil:
		return cmp.Or(r.unanswered, "not predicted: out of time")
	case len(r.answer.Withheld) > 0:
		return r.answer.Withheld[0]
	}
	return "no"
}

// cells returns what was measured, predicted and rehearsed. An interval that holds the truth has a "+" behind
// the error, another one a "-"; a figure that alone is withheld is in brackets.
func (m measure) cells(r row, past predict.Past) []string {
	is := r.measured[m.name]
	cells := []string{"-", "-", "-"}
	if is > 0 {
		cells[0] = figure.Amount(is, m.unit)
	}
	if r.answer != nil {
		e := m.interval(r, past)
		cells[1] = figure.Amount(e.Value, m.unit)
		if is > 0 {
			held := "-"
			if e.Contains(is) {
				held = "+"
			}
			cells[1] += fmt.Sprintf(" (%+.0f %%) %s", 100*(e.Value/is-1), held)
		}
		if m.withheld(r.answer) {
			cells[1] = "[" + cells[1] + "]"
		}
	}
	if played := r.rehearsed[m.name]; played > 0 {
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
func summary(rows []row, past predict.Past) (all []figures.Figure) {
	add := func(name string, errors []float64, goal figures.Goal) {
		if len(errors) > 0 {
			all = append(all, figures.Median(name, "1", lab.LowerIsBetter, errors).To(goal))
		}
	}
	for _, m := range measures() {
		var predicted, answered, rehearsed []float64
		held := 0
		for _, r := range rows {
			is := r.measured[m.name]
			if is == 0 {
				continue
			}
			if r.answer != nil {
				off := math.Abs(m.predicted(r.answer).Value/is - 1)
				predicted = append(predicted, off)
				if m.answered(r) {
					answered = append(answered, off)
					if m.interval(r, past).Contains(is) {
						held++
					}
				}
			}
			if played := r.rehearsed[m.name]; played > 0 {
				rehearsed = append(rehearsed, math.Abs(played/is-1))
			}
		}
		add("predicted "+m.name+", absolute error", predicted, m.predicting)
		add("predicted "+m.name+", absolute error where cleave predict answers", answered, m.predicting)
		add("rehearsed "+m.name+", absolute error", rehearsed, m.rehearse)
		if len(answered) > 0 {
			share := figures.Median("intervals of the "+m.name+" that hold the truth where it answers", "1",
				lab.HigherIsBetter, []float64{float64(held) / float64(len(answered))})
			share.N = len(answered)
			all = append(all, share.To(figures.Goal{Must: 0.85, Stretch: 0.9}))
		}
	}
	return all
}
