package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// tone is the meaning of a cell beyond its text. Each format has its own way to show it, such as a colour.
type tone string

const (
	toneNone  tone = ""
	toneGood  tone = "good"
	toneBad   tone = "bad"
	toneWarn  tone = "warn"
	toneMuted tone = "muted"
	toneHead  tone = "head" // of the names of columns, on the terminal
)

// toneOf returns the tone of a verdict on a comparison, a claim or an audit.
func toneOf(verdict any) tone {
	tones := map[any]tone{
		lab.Faster: toneGood, lab.Slower: toneBad, lab.Equivalent: toneMuted, lab.Undecided: toneMuted,
		lab.ClaimSupported: toneGood, lab.ClaimContradicted: toneBad, lab.ClaimUndecided: toneWarn,
		lab.ClaimUntestable: toneMuted,
		lab.AuditValid:      toneGood, lab.AuditInvalid: toneBad, lab.AuditUnknown: toneWarn,
	}
	return tones[verdict]
}

// column describes a column of a table.
type column struct {
	Name     string
	Number   bool // its cells are aligned to the right
	Flexible bool // its cells may be wrapped
}

// columns are the columns of a table, from left to right: columns{}.text("variant").number("CPU", "memory").
type columns []column

// cell is one field of a table.
type cell struct {
	Text string
	Tone tone
}

// table is a table that the terminal and the page both show.
type table struct {
	ID      string
	Title   string // like Note, cleaned by those who show it
	Note    string // unit, base and n, which all its numbers share
	Columns columns
	// Keys is the number of leading columns that name a row. They are repeated if a wide table is divided.
	Keys int
	Rows [][]cell
}

// text adds text columns.
func (c columns) text(names ...string) columns { return c.add(column{}, names) }

// number adds numeric columns.
func (c columns) number(names ...string) columns { return c.add(column{Number: true}, names) }

// prose adds flexible text columns.
func (c columns) prose(names ...string) columns { return c.add(column{Flexible: true}, names) }

// add adds columns of a kind.
func (c columns) add(kind column, names []string) columns {
	for _, name := range names {
		kind.Name = clean(name)
		c = append(c, kind)
	}
	return c
}

// text returns a cell without a tone.
func text(s string) cell { return toned(s, toneNone) }

// toned returns a cell with a tone, or that of an absent value if the text is empty. Every cell is cleaned
// here, once.
func toned(s string, t tone) cell {
	if s = clean(s); s == "" {
		return none()
	}
	return cell{s, t}
}

// verdictCell shows a verdict.
func verdictCell[T ~string](verdict T) cell { return toned(string(verdict), toneOf(verdict)) }

// unlessZero returns a cell with the text shown, or that of an absent value if value is 0.
func unlessZero(value float64, shown string) cell {
	if value == 0 {
		return none()
	}
	return text(shown)
}

// unlessNil returns a cell with the formatted value, or that of an absent value if value is nil.
func unlessNil[T any](value *T, write func(T) string) cell {
	if value == nil {
		return none()
	}
	return text(write(*value))
}

// none returns the cell of an absent value.
func none() cell { return cell{absent, toneMuted} }

// seconds formats a time in a readable unit: "3.2 ms".
func seconds(value float64) string { return figure.Amount(value, "s") }

// secondsOf formats a time with its share of a whole: "3.2 ms (41 %)".
func secondsOf(value, share float64) string {
	return seconds(value) + " (" + figure.Percent(share) + ")"
}

// times formats a ratio with its interval.
func times(r lab.Ratio) string { return figure.Times(r.Estimate()) }

// addVariants appends a column of numbers for each variant.
func (t *table) addVariants(variants []lab.Variant) {
	for _, x := range variants {
		t.Columns = t.Columns.number(x.Name)
	}
}

// add appends a row of cells, lists of cells, and other values, which become cells without a tone.
func (t *table) add(values ...any) {
	var row []cell
	for _, value := range values {
		switch value := value.(type) {
		case cell:
			row = append(row, value)
		case []cell:
			row = append(row, value...)
		default:
			row = append(row, text(fmt.Sprint(value)))
		}
	}
	t.Rows = append(t.Rows, row)
}

// addMeasured appends a row of the first value, as add does, and the measured cells, unless all of these are
// absent.
func (t *table) addMeasured(first any, measured []cell) {
	if slices.ContainsFunc(measured, func(c cell) bool { return c.Text != absent }) {
		t.add(first, measured)
	}
}

// empty reports whether there is nothing to show.
func (t table) empty() bool { return len(t.Rows) == 0 }

// transposed returns a table of metrics with rows and columns exchanged.
func transposed(t table) table {
	out := t
	out.Columns = columns{}.text("metric")
	out.Rows = nil
	for _, row := range t.Rows {
		out.Columns = out.Columns.number(row[0].Text)
	}
	for i, c := range t.Columns[1:] {
		out.addMeasured(c.Name, cells(t.Rows, func(old []cell) cell { return old[i+1] }))
	}
	return out
}

// filled returns the tables that have rows, with clean headings, and IDs that a page can use.
func filled(tables ...table) []table {
	kept := slices.DeleteFunc(tables, table.empty)
	for i, t := range kept {
		kept[i].ID = slug(t.ID)
		kept[i].Title = clean(t.Title)
		kept[i].Note = clean(t.Note)
	}
	return kept
}

// slug converts a name to an id of lower-case letters, digits and dashes.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name), "-")
}

// Interval returns the bracketed end of a cell, "" without one. The page never breaks it,
// but may set it below the number.
func (c cell) Interval() string {
	if i := strings.LastIndex(c.Text, " ["); i > 0 && strings.HasSuffix(c.Text, "]") {
		return c.Text[i+1:]
	}
	return ""
}

// Head returns the cell without its interval.
func (c cell) Head() string {
	return strings.TrimSuffix(strings.TrimSuffix(c.Text, c.Interval()), " ")
}

// Short reports whether a cell is so short that the page never breaks it.
func (c cell) Short() bool {
	const brief = 26 // characters
	return c.Interval() == "" && utf8.RuneCountInString(c.Text) <= brief
}

// clean makes a text safe to show on one line: it replaces line breaks and
// tabs by spaces and drops control characters, terminal escapes and marks that
// reorder text (bidirectional overrides), which could fake a result.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text))
}

// cleanAll returns the clean texts without empty ones.
func cleanAll(texts []string) []string {
	kept := make([]string, 0, len(texts))
	for _, text := range texts {
		if text = clean(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// absent is the text of a missing value.
const absent = figure.Absent

// plainNumber formats a number without scaling and rounding, so that it reads back as the same number.
func plainNumber(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// sentenceCase converts a metric's name to the beginning of a heading: "Response time".
func sentenceCase(name string) string { return figure.Capital(figure.Spaced(clean(name))) }

// sample describes the sample behind a table: the number of blocks, the confidence and the scale.
func (v view) sample() string {
	return fmt.Sprintf("n=%s, %s intervals, scale %s", v.counting, figure.Setting(v.Confidence),
		plainNumber(v.Scale))
}
