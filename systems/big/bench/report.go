package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// perRoundTrip shows a cost in seconds in the unit that people use for it.
func perRoundTrip(seconds float64) string {
	if seconds < 1e-6 {
		return fmt.Sprintf("%.1f ns", seconds*1e9)
	}
	return fmt.Sprintf("%.2f µs", seconds*1e6)
}

// printReport prints the costs of the contenders and the ratios.
func printReport(out io.Writer, c costs, figures []figure, missing error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "per round trip\tCPU median\tmin\tmax\twall median\tmin\tmax\tn\t")
	for _, who := range contenders() {
		printCosts(table, who, c)
	}
	_ = table.Flush() // as with every line printed here, a reader who left is no failure
	fmt.Fprintln(out)
	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ratio\tvalue\t95 % interval\tmust\tstretch\tgoal\tn\tof")
	for _, f := range figures {
		if f.Must != nil {
			fmt.Fprintf(table, "%s\t%s\t%s .. %s\t%s\t%s\t%s\t%d\t%s\n", f.Figure, share(f.Value), share(f.Low), share(f.High),
				share(*f.Must), share(*f.Stretch), f.reached(), f.N, f.Note)
		}
	}
	_ = table.Flush()
	if missing != nil {
		fmt.Fprintln(out, "\n"+missing.Error())
	}
}

func printCosts(table io.Writer, who contender, c costs) {
	used := c.values(who.String(), cpu)
	if len(used) == 0 {
		return
	}
	spent := absolute(who, cpu, used)
	took := absolute(who, wall, c.values(who.String(), wall))
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", who,
		perRoundTrip(spent.Value), perRoundTrip(spent.Low), perRoundTrip(spent.High),
		perRoundTrip(took.Value), perRoundTrip(took.Low), perRoundTrip(took.High), spent.N)
}

// share shows a ratio below 1 as a fraction: 1/8.4.
func share(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("1/%.3g", 1/ratio)
	}
	return fmt.Sprintf("%.3g", ratio)
}

// reached says which goal the whole interval meets.
func (f figure) reached() string {
	switch {
	case f.High <= *f.Stretch:
		return "stretch"
	case f.High <= *f.Must:
		return "must"
	case f.Low <= *f.Must:
		return "undecided"
	default:
		return "missed"
	}
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
