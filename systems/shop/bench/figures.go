package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// confidence is the level of the intervals of ratios.
const confidence = 0.95

// figure is one line of the result, as all benchmarks of Cleave write it. Plain
// figures have the median, least and greatest of N rounds; a ratio has the geometric
// mean of the rounds' ratios and its interval.
type figure struct {
	Figure  string        `json:"figure"`
	Value   float64       `json:"value"`
	Low     float64       `json:"low"`
	High    float64       `json:"high"`
	Unit    string        `json:"unit"`
	N       int           `json:"n"`
	Better  lab.Direction `json:"better"`
	Must    *float64      `json:"must"`
	Stretch *float64      `json:"stretch"`
}

// plain is a figure of the rounds of one side.
func plain(name, unit string, better lab.Direction, values []float64) figure {
	return figure{
		Figure: name, Value: stats.Median(values), Low: slices.Min(values), High: slices.Max(values),
		Unit: unit, N: len(values), Better: better,
	}
}

// goals are what a figure should reach; both zero: none.
type goals struct {
	must, stretch float64
	better        lab.Direction
}

// ratio compares two sides round by round; see stats.PairedRatio.
func (g goals) ratio(name string, numerator, denominator []float64) (figure, error) {
	r, err := stats.PairedRatio(numerator, denominator, confidence)
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w", name, err)
	}
	return g.of(figure{Figure: name, Value: r.Value, Low: r.Low, High: r.High, Unit: "1", N: r.N, Better: g.better}), nil
}

// of is a figure with these goals.
func (g goals) of(f figure) figure {
	if g.must != 0 || g.stretch != 0 {
		f.Must, f.Stretch = &g.must, &g.stretch
	}
	return f
}

// reached says which goal the whole interval meets.
func (f figure) reached() string {
	worst, best := f.Low, f.High
	meets := func(value, goal float64) bool { return value >= goal }
	if f.Better == lab.LowerIsBetter {
		worst, best = f.High, f.Low
		meets = func(value, goal float64) bool { return value <= goal }
	}
	switch {
	case f.Must == nil:
		return ""
	case meets(worst, *f.Stretch):
		return "stretch"
	case meets(worst, *f.Must):
		return "must"
	case meets(best, *f.Must):
		return "undecided"
	}
	return "missed"
}

func printFigures(out io.Writer, figures []figure) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tvalue\tlow\thigh\tunit\tn\tmust\tstretch\tgoal")
	for _, f := range figures {
		must, stretch := "", ""
		if f.Must != nil {
			sign := map[lab.Direction]string{lab.HigherIsBetter: ">=", lab.LowerIsBetter: "<="}[f.Better]
			must, stretch = fmt.Sprintf("%s %.3g", sign, *f.Must), fmt.Sprintf("%s %.3g", sign, *f.Stretch)
		}
		fmt.Fprintf(table, "%s\t%.4g\t%.4g\t%.4g\t%s\t%d\t%s\t%s\t%s\n", f.Figure, f.Value, f.Low, f.High, f.Unit, f.N, must, stretch, f.reached())
	}
	_ = table.Flush() // a reader who left is no failure
}

// writeFigures writes all figures as JSON.
func writeFigures(path string, figures []figure) error {
	text, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the figures: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	fmt.Println("\nfigures written to", path)
	return nil
}
