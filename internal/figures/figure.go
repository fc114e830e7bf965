// Package figures is the common part of the benchmarks behind `make bench-*`. It plays the sides that a
// benchmark compares in rounds, computes figures from the results, compares each figure with its goal, prints
// a table and writes a JSON file.
//
// Every figure has a unit, a range or an interval, and its number of rounds. There
// are two statistics. Median is the median over the rounds of one side, with their
// minimum and maximum. Ratio compares two sides round by round: it is the geometric
// mean of the rounds' ratios with its interval. The package measures nothing itself;
// internal/trials plays trials of systems.
//
// Entry points: Play and Each for the rounds, Median and Ratio for the figures,
// Figure.To for goals, Publish for table and file.
package figures

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// Confidence is the level of the intervals of ratios.
const Confidence = 0.95

// Figure is one line of the result of a benchmark. Its JSON is an element of the
// list in results/bench.
type Figure struct {
	// Figure is the name of the measured quantity, with the sides that it compares.
	Figure string `json:"figure"`
	// Value is a median or a ratio, Low and High the range or interval around it;
	// see Median and Ratio.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Unit is the unit of Value, Low, High and the goals, such as "s"; "1": none, as for a ratio.
	Unit string `json:"unit"`
	// N is the number of rounds; in the benchmark of the meter, the number of windows.
	N      int           `json:"n"`
	Better lab.Direction `json:"better"`
	// Must and Stretch are the goals; both are null if there is none.
	Must    *float64 `json:"must"`
	Stretch *float64 `json:"stretch"`
	// Note explains the figure.
	Note string `json:"note,omitempty"`
}

// Goal holds the value that a figure must reach, and a more ambitious one, in the unit of the figure.
type Goal struct{ Must, Stretch float64 }

// Median returns a figure of one side: the median of its values with their minimum and maximum. There is one
// value per round, and at least one.
func Median(name, unit string, better lab.Direction, values []float64) Figure {
	return Figure{
		Figure: name, Value: stats.Median(values), Low: slices.Min(values), High: slices.Max(values),
		Unit: unit, N: len(values), Better: better,
	}
}

// Ratio returns a figure that compares two sides, whose values are paired by round: the
// geometric mean of the rounds' ratios with its 95 % interval, of unit "1". It
// needs two rounds and values above zero; see stats.PairedRatio.
func Ratio(name string, better lab.Direction, numerator, denominator []float64) (Figure, error) {
	r, err := stats.PairedRatio(numerator, denominator, Confidence)
	if err != nil {
		return Figure{}, fmt.Errorf("%s: %w", name, err)
	}
	return Figure{Figure: name, Value: r.Value, Low: r.Low, High: r.High, Unit: "1", N: r.N, Better: better}, nil
}

// To returns a copy of the figure with a goal.
func (f Figure) To(goal Goal) Figure {
	f.Must = &goal.Must
	f.Stretch = &goal.Stretch
	return f
}

// Reached returns the goal that the whole range or interval meets, "stretch" or "must". It returns
// "undecided" if only a part of it meets the must goal, "missed" if no part does, and "" without a goal.
func (f Figure) Reached() string {
	if f.Must == nil {
		return ""
	}
	worst, best := f.Low, f.High
	meets := func(value, goal float64) bool { return value >= goal }
	if f.Better == lab.LowerIsBetter {
		worst, best = f.High, f.Low
		meets = func(value, goal float64) bool { return value <= goal }
	}
	switch {
	case meets(worst, *f.Stretch):
		return "stretch"
	case meets(worst, *f.Must):
		return "must"
	case meets(best, *f.Must):
		return "undecided"
	}
	return "missed"
}
