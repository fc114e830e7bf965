package figure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
)

// Columns writes rows as aligned columns to w, which must not fail, such as memory.
func Columns(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, "  "+strings.Join(row, "\t"))
	}
	_ = t.Flush()
}

// Spaced returns the name of a metric with spaces: "cpu per operation".
func Spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Capital returns a text with its first letter in upper case.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Article returns a noun with its article: "an order".
func Article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// And joins words or clauses: "a, b and c".
func And(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// ChangeRatio formats the ratio of a change. A change from 0 or to 0 has none.
func ChangeRatio(c lab.Change) string {
	if c.Ratio.Ratio == 0 {
		return Absent
	}
	return Times(c.Estimate())
}

// Changes lists changes with their ratios, or with their verdicts where they have none.
func Changes(changes []lab.Change) string {
	var all []string
	for _, c := range changes {
		what := ChangeRatio(c)
		if what == Absent {
			what = c.Words
		}
		if c.Point == "" {
			all = append(all, c.Variant+", which is not compared")
		} else {
			all = append(all, fmt.Sprintf("%s at %s, %s", c.Variant, c.Point, what))
		}
	}
	return strings.Join(all, "; ")
}
