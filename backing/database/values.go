package database

import "strings"

// Values writes the placeholders of that many rows and columns:
// "(?, ?), (?, ?)".
func Values(rows, columns int) string {
	row := "(" + Placeholders(columns) + ")"
	return strings.TrimSuffix(strings.Repeat(row+", ", rows), ", ")
}

// Placeholders writes that many of them: "?, ?".
func Placeholders(count int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", count), ", ")
}

// Texts builds the texts of a statement for 0 to most rows once, so that running
// it builds nothing.
func Texts(most int, build func(rows int) string) []string {
	texts := make([]string, most+1)
	for rows := range texts {
		texts[rows] = build(rows)
	}
	return texts
}
