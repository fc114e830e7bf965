package wide

import (
	"fmt"
	"strings"
)

// statements holds the texts of the statements of one table.
type statements struct {
	Table
	insert string // the part after INSERT, which is the same in SQL and CQL
	get    string // reads the values of a record by its key
}

// newStatements returns the statements for a table. Names are quoted, because they may be keywords of SQL or
// CQL.
func newStatements(t Table) *statements {
	values := "?" + strings.Repeat(", ?", len(t.Columns))
	return &statements{t,
		fmt.Sprintf(" INTO %q (%q, %s) VALUES (%s)", t.Name, keyColumn, t.columns(), values),
		fmt.Sprintf("SELECT %s FROM %q WHERE %q = ?", t.columns(), t.Name, keyColumn)}
}

// keyColumn is the name of the key, which no column can have.
const keyColumn = "_key"

// columns returns the list of columns, without the key.
func (t Table) columns() string {
	quoted := make([]string, len(t.Columns))
	for n, column := range t.Columns {
		quoted[n] = fmt.Sprintf("%q", column)
	}
	return strings.Join(quoted, ", ")
}

// selectAll returns the statement that reads all keys and values.
func (t Table) selectAll() string {
	return fmt.Sprintf("SELECT %q, %s FROM %q", keyColumn, t.columns(), t.Name)
}

// destinations returns the addresses of values, for scanning a row.
func destinations(values [][]byte) []any {
	all := make([]any, len(values))
	for n := range values {
		all[n] = &values[n]
	}
	return all
}
