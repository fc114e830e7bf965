package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
)

// JSON writes the analysis as one indented document, versioned by its schema.
func JSON(w io.Writer, a lab.Analysis) error {
	return writeJSON(w, fmt.Sprintf("the analysis of %q", a.Study), a)
}

// AgainstJSON writes the comparison of two runs as one indented document.
func AgainstJSON(w io.Writer, a lab.Against) error {
	return writeJSON(w, "the comparison of two runs", a)
}

// TracesJSON writes the comparison of two sets of traces as one indented document.
func TracesJSON(w io.Writer, c lab.TraceComparison) error {
	return writeJSON(w, "the comparison of two sets of traces", c)
}

// writeJSON writes a document as indented JSON. what names the document in errors.
func writeJSON(w io.Writer, what string, document any) error {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s as JSON: %w", what, err)
	}
	if _, err := io.WriteString(w, escapeMarks(data)+"\n"); err != nil {
		return fmt.Errorf("write %s as JSON: %w", what, err)
	}
	return nil
}

// escapeMarks replaces control characters and marks that reorder text, which encoding/json leaves as they
// are, by \u escapes: the document may be printed on a terminal. JSON has such characters only inside
// strings, where escapes are allowed.
func escapeMarks(data []byte) string { return plain.Text(string(data)) }

// CSV writes every measured value in long form: one row per valid trial and
// metric, in seconds and bytes, with one column per factor of the points.
func CSV(w io.Writer, a lab.Analysis) error {
	factors := factorsOf(a.Results)
	head := []string{"study", "scale", "variant", "point"}
	for _, factor := range factors {
		head = append(head, guard(factor))
	}
	out := csv.NewWriter(w)
	rows := [][]string{append(head, "metric", "unit", "block", "value")}
	for _, r := range a.Results {
		rows = append(rows, longRows(a, r, factors)...)
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write the CSV report: %w", err)
	}
	return nil
}

// longRows returns the rows of one result, one per trial.
func longRows(a lab.Analysis, r lab.Result, factors []string) [][]string {
	prefix := []string{guard(a.Study), plainNumber(a.Scale), guard(r.Variant), guard(r.Point.Name)}
	for _, factor := range factors {
		level, ok := r.Point.Level(factor)
		if !ok {
			prefix = append(prefix, "")
			continue
		}
		prefix = append(prefix, plainNumber(level))
	}
	prefix = append(prefix, guard(r.Metric), guard(r.Unit))
	rows := make([][]string, len(r.Values))
	for i, value := range r.Values {
		block := ""
		if i < len(r.Blocks) {
			block = strconv.Itoa(r.Blocks[i])
		}
		rows[i] = append(slices.Clone(prefix), block, plainNumber(value))
	}
	return rows
}

// factorsOf returns the names of the factors that the points of results set, sorted.
func factorsOf(results []lab.Result) []string {
	set := make(map[string]bool)
	for _, r := range results {
		for factor := range r.Point.Levels {
			set[factor] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// guard keeps a spreadsheet from reading a text as a formula: a leading
// apostrophe makes it text again.
func guard(s string) string {
	s = clean(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
