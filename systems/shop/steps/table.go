package steps

import (
	"context"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
)

// Rows are the rows of a table with the columns order_id, state and journal, in which all rows of an order
// have the same state and journal. Table implements them in SQL, package mapped by an ORM.
type Rows interface {
	// Insert writes the rows whose keys are new, and returns their number.
	Insert(ctx context.Context, rows []Row) (added int64, err error)
	// States returns the states of orders, and locks their rows. Orders without a row are left out.
	States(ctx context.Context, orders []string) (map[string]string, error)
	// Move moves the orders that are in one state to the next and returns the number of changed rows. also are
	// values of other columns that come with a move.
	Move(ctx context.Context, orders []string, from, to string, also ...any) (changed int64, err error)
}

// Row is a row that a component writes.
type Row interface {
	// Values appends the values of the columns, in the order of Table.Of.
	Values(to []any) []any
}

// Table implements Rows by SQL.
type Table struct {
	db           *database.DB
	name         string
	move, states []string // by number of orders
	insert       []string // by number of rows
	columns      int      // of a row that is inserted
}

// NewTable makes the statements for a table. also are assignments to other columns that come with a move, for
// the values that Move is given.
func NewTable(db *database.DB, name string, also ...string) Table {
	set := strings.Join(append([]string{"state = ?", db.Append("journal")}, also...), ", ")
	return Table{
		db: db, name: name,
		move: database.TextsIn(Most, "UPDATE "+name+" SET "+set+" WHERE state = ? AND order_id IN", ""),
		states: database.TextsIn(Most, "SELECT order_id, state FROM "+name+" WHERE order_id IN",
			db.ForUpdate("order_id")),
	}
}

// Of returns the table with the columns that Insert writes. most limits the rows of a statement.
func (t Table) Of(most int, columns ...string) Table {
	t.columns = len(columns)
	t.insert = database.Texts(most, func(rows int) string {
		return "INSERT INTO " + t.name + " (" + strings.Join(columns, ", ") + ") VALUES " +
			database.Values(rows, t.columns) + t.db.KeepExisting("order_id")
	})
	return t
}

// Insert implements Rows.
func (t Table) Insert(ctx context.Context, rows []Row) (added int64, err error) {
	values := make([]any, 0, len(rows)*t.columns)
	for _, row := range rows {
		values = row.Values(values)
	}
	return t.db.ExecRows(ctx, t.insert, t.columns, values)
}

// States implements Rows.
func (t Table) States(ctx context.Context, orders []string) (map[string]string, error) {
	return database.Pairs[string, string](ctx, t.db, t.states, orders)
}

// Move implements Rows.
func (t Table) Move(
	ctx context.Context, orders []string, from, to string, also ...any,
) (changed int64, err error) {
	for part := range slices.Chunk(orders, Most) {
		args := append(append([]any{to, Entry(to)}, also...), from)
		for _, order := range part {
			args = append(args, order)
		}
		some, err := t.db.Exec(ctx, t.move[len(part)], args...)
		if err != nil {
			return 0, err
		}
		changed += some
	}
	return changed, nil
}
