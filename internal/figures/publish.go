package figures

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// Publish prints the table of all figures to out, writes them as JSON to the file
// at path and prints that path.
func Publish(out io.Writer, path string, all []Figure) error {
	printTable(out, all)
	if err := writeJSON(path, all); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nfigures written to", path)
	return nil
}

// printTable prints a table with a row per figure. It scales the numbers of a row to one readable unit. The
// table has a column of notes if a figure has a note.
func printTable(out io.Writer, all []Figure) {
	header := []string{"figure", "value", "low", "high", "unit", "n", "must", "stretch", "goal"}
	noted := slices.ContainsFunc(all, func(f Figure) bool { return f.Note != "" })
	if noted {
		header = append(header, "note")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, f := range all {
		cells := f.cells()
		if noted {
			cells = append(cells, f.Note)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush() // it is no failure if the reader of a pipe is gone
}

// cells returns the cells of the figure's row, without its note.
func (f Figure) cells() []string {
	unit, factor := figure.Scale(f.Value, f.Unit)
	unit = cmp.Or(unit, f.Unit) // Scale leaves out "1"
	number := func(value float64) string { return lab.Plain(value * factor) }
	sign := map[lab.Direction]string{lab.HigherIsBetter: ">= ", lab.LowerIsBetter: "<= "}[f.Better]
	goal := func(value *float64) string {
		if value == nil {
			return ""
		}
		return sign + number(*value)
	}
	return []string{
		f.Figure, number(f.Value), number(f.Low), number(f.High), unit, fmt.Sprint(f.N),
		goal(f.Must), goal(f.Stretch), f.Reached(),
	}
}

// writeJSON writes all figures to the file at path as a JSON list, which may be empty. It creates the folder
// of the file if needed.
func writeJSON(path string, all []Figure) error {
	text, err := json.MarshalIndent(append([]Figure{}, all...), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the figures: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
