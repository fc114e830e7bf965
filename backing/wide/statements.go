package wide

import (
	"fmt"
	"strings"
)

// statements holds the texts of the statements of one table.
type statements struct {
	Table
	insert string // what follows INSERT, in SQL and in CQL
	get    string // reads the values of a record by its key
}

// newStatements writes the statements of a table. Names are quoted: some are words of SQL and CQL.
func newStatements(t Table) *statements {
	return &statements{t,
		fmt.Sprintf(" INTO %q (%q, %s) VALUES (?%s)", t.Name, keyColumn, t.columns(),
			strings.Repeat(", ?", len(t.Columns))),
		fmt.Sprintf("SELECT %s FROM %q WHERE %q = ?", t.columns(), t.Name, keyColumn)}
}

// keyColumn is the name of the key, which no column can have.
const keyColumn = "_key"

// columns lists those of the values.
func (t Table) columns() string {
	quoted := make([]string, len(t.Columns))
	for n, column := range t.Columns {
		quoted[n] = fmt.Sprintf("%q", column)
	}
	return strings.Join(quoted, ", ")
}

// selectAll reads keys and values.
func (t Table) selectAll() string {
	return fmt.Sprintf("SELECT %q, %s FROM %q", keyColumn, t.columns(), t.Name)
}

// destinations returns where a driver puts the values of a row.
func destinations(values [][]byte) []any {
	all := make([]any, len(values))
	for n := range values {
		all[n] = &values[n]
	}
	return all
}
