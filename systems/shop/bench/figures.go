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

// The goals for monolith / raw, and the level of its interval.
const (
	mustRatio    = 0.7
	stretchRatio = 0.9
	confidence   = 0.95
)

// figure is one line of the result, as all benchmarks of Cleave write it. Rates
// have the median, least and greatest of N rounds; the ratio has the geometric mean
// of the rounds' ratios and its interval.
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

// derive adds up the rounds on one database.
func derive(name string, r rates) ([]figure, error) {
	ratio, err := stats.PairedRatio(r.monolith, r.raw, confidence) // see there
	if err != nil {
		return nil, err
	}
	must, stretch := mustRatio, stretchRatio
	return []figure{
		rate("monolith over HTTP, "+name, r.monolith),
		rate("the same statements raw, "+name, r.raw),
		{
			Figure: "monolith / raw statements, " + name, Value: ratio.Value, Low: ratio.Low, High: ratio.High, Unit: "1", N: ratio.N,
			Better: lab.HigherIsBetter, Must: &must, Stretch: &stretch,
		},
	}, nil
}

func rate(name string, values []float64) figure {
	return figure{
		Figure: name, Value: stats.Median(values), Low: slices.Min(values), High: slices.Max(values),
		Unit: "orders/s", N: len(values), Better: lab.HigherIsBetter,
	}
}

func printFigures(out io.Writer, figures []figure) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tvalue\tlow\thigh\tunit\tn\tmust\tstretch\tgoal")
	for _, f := range figures {
		if f.Must == nil {
			fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%s\t%d\t\t\t\n", f.Figure, f.Value, f.Low, f.High, f.Unit, f.N)
			continue
		}
		fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%.3f\t%s\t%d\t>= %.2g\t>= %.2g\t%s\n",
			f.Figure, f.Value, f.Low, f.High, f.Unit, f.N, *f.Must, *f.Stretch, f.reached())
	}
	_ = table.Flush() // a reader who left is no failure
}

// reached says which goal the whole interval meets.
func (f figure) reached() string {
	switch {
	case f.Low >= *f.Stretch:
		return "stretch"
	case f.Low >= *f.Must:
		return "must"
	case f.High >= *f.Must:
		return "undecided"
	}
	return "missed"
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
