package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Widths of the terminal layout, in characters.
const (
	pageWidth    = 100
	columnGap    = 2
	narrowest    = 24 // smallest width of a flexible column, and of a text behind a long lead
	widestKey    = 54 // largest width of all key columns together, if there are several
	widestColumn = 40 // largest width of any other column
)

// line is one printed row: its cells in order, already padded to their columns.
type line []cell

// layOut lays a table out in lines of at most width characters. A table that is too
// wide is divided into several, and each repeats the key columns.
func layOut(t table, width int) []line {
	var lines []line
	for i, part := range cutColumns(t, width) {
		if i > 0 {
			lines = append(lines, line{})
		}
		lines = append(lines, partLines(t, part, width)...)
	}
	return lines
}

// columnWidths returns the width that each column needs, up to the limits.
func columnWidths(t table) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
		switch {
		case i < t.Keys && t.Keys > 1:
			widths[i] = min(widths[i], widestKey/t.Keys-columnGap/2)
		case !c.Flexible:
			widths[i] = min(widths[i], widestColumn)
		}
	}
	return widths
}

// cutColumns groups the indexes of columns into parts that fit the width, each with the
// key columns in front.
func cutColumns(t table, width int) [][]int {
	least := leastWidths(t, columnWidths(t))
	var keys []int
	keysWidth := 0
	for i := range t.Keys {
		keys = append(keys, i)
		keysWidth += least[i] + columnGap
	}
	parts := [][]int{slices.Clone(keys)}
	used := keysWidth
	for i := t.Keys; i < len(t.Columns); i++ {
		last := len(parts) - 1
		if used+least[i] > width && len(parts[last]) > len(keys) {
			parts = append(parts, slices.Clone(keys))
			used = keysWidth
			last++
		}
		parts[last] = append(parts[last], i)
		used += least[i] + columnGap
	}
	return parts
}

// leastWidths returns the width that each column takes at least: flexible ones may be narrower than their
// content.
func leastWidths(t table, widths []int) []int {
	least := slices.Clone(widths)
	for i, c := range t.Columns {
		switch {
		case c.Flexible && i < t.Keys:
			least[i] = min(widths[i], widestColumn)
		case c.Flexible:
			least[i] = min(widths[i], narrowest)
		}
	}
	return least
}

// partLines returns the header and the rows of the given columns. Flexible columns share the rest of the
// width, the first one first.
func partLines(t table, columns []int, width int) []line {
	wanted := columnWidths(t)
	widths := leastWidths(t, wanted)
	rest := width + columnGap // there is none behind the last column
	for _, i := range columns {
		rest -= widths[i] + columnGap
	}
	for _, i := range columns {
		more := max(0, min(wanted[i]-widths[i], rest))
		widths[i] += more
		rest -= more
	}
	header := cells(t.Columns, func(c column) cell { return cell{c.Name, toneHead} })
	lines := rowLines(t, header, columns, widths)
	for _, row := range t.Rows {
		if len(columns) < len(t.Columns) && blank(row, columns[t.Keys:]) {
			continue
		}
		lines = append(lines, rowLines(t, row, columns, widths)...)
	}
	return lines
}

// blank reports whether a row has no values in the given columns.
func blank(row []cell, columns []int) bool {
	return !slices.ContainsFunc(columns, func(i int) bool { return row[i].Text != absent })
}

// rowLines returns the lines of one row, several if a cell is wrapped.
func rowLines(t table, row []cell, columns, widths []int) []line {
	height := 1
	wrapped := make(map[int][]string, len(columns))
	for _, i := range columns {
		wrapped[i] = []string{cut(row[i].Text, widths[i])}
		if t.Columns[i].Flexible {
			wrapped[i] = Wrap(row[i].Text, widths[i])
		}
		height = max(height, len(wrapped[i]))
	}
	lines := make([]line, height)
	for k := range lines {
		for _, i := range columns {
			content := ""
			if k < len(wrapped[i]) {
				content = wrapped[i][k]
			}
			lines[k] = append(lines[k], cell{pad(content, widths[i], t.Columns[i].Number), row[i].Tone})
		}
	}
	return lines
}

// pad fills a text with spaces to a width, on the left for numbers.
func pad(s string, width int, isNumber bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if isNumber {
		return fill + s
	}
	return s + fill
}

// cut shortens a text to a width, with "..." at its end.
func cut(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	return string(runes[:max(0, width-3)]) + "..."
}

// Wrap breaks a text into lines of at most width characters, at spaces if possible.
func Wrap(s string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(s) {
		for utf8.RuneCountInString(word) > width {
			runes := []rune(word)
			if current != "" {
				lines = append(lines, current)
				current = ""
			}
			lines = append(lines, string(runes[:width]))
			word = string(runes[width:])
		}
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) <= width:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	if current != "" || len(lines) == 0 {
		lines = append(lines, current)
	}
	return lines
}
