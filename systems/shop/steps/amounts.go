package steps

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
)

// Amounts changes columns of rows by amounts, in rows that have enough: it moves stock from one column to
// another, or takes money from balances.
type Amounts struct {
	db    *database.DB
	uses  int      // of an amount, in the assignments
	texts []string // UPDATE by number of rows
}

// manyAmounts is the most rows that one statement changes if the amounts exceed those of one order. The
// database looks through all amounts for each row, so that more would cost more than a second statement.
// The amounts of one order always take one statement.
const manyAmounts = 32

// NewAmounts makes the statements for a table. set are their assignments, in which ?
// is the amount. They change only rows whose column from is at least the amount.
func NewAmounts(db *database.DB, table, key, set, from string) Amounts {
	return Amounts{db: db, uses: strings.Count(set, "?"),
		texts: database.Texts(shop.MaxLines, func(n int) string {
			amount, where := "?", key+" = ?"
			if n > 1 {
				amount = "CASE " + key + strings.Repeat(" WHEN ? THEN "+db.Integer(), n) + " END"
				where = db.InKeyOrder(table, key, n)
			}
			return "UPDATE " + table + " SET " + strings.ReplaceAll(set, "?", amount) + " WHERE " + where + " AND " +
				from + " >= " + amount
		})}
}

// Move changes rows by amounts, which are by the keys of their rows, and reports whether all rows had enough.
// moved is the number of rows that it has changed, also if others had too little. One statement is one round
// trip whatever the number of rows, and locks them in the order of their keys, so that two orders do not wait
// for each other in a circle.
func (a Amounts) Move(ctx context.Context, amounts map[int64]int64) (enough bool, moved int64, err error) {
	most := manyAmounts
	if len(amounts) <= shop.MaxLines {
		most = shop.MaxLines
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(amounts)), most) {
		var keys, values []any
		for _, key := range part {
			keys = append(keys, key)
			if len(part) > 1 {
				values = append(values, key)
			}
			values = append(values, amounts[key])
		}
		args := slices.Concat(slices.Repeat(values, a.uses), keys, values)
		some, err := a.db.Exec(ctx, a.texts[len(part)], args...)
		if err != nil {
			return false, 0, err
		}
		moved += some
	}
	return moved == int64(len(amounts)), moved, nil
}
