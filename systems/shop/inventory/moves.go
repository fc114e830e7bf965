package inventory

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// moves builds, for 0 to MaxLines lines, the statement that moves the quantities
// of all lines from one column of the stock to another where there is enough. One
// statement is one round trip whatever the number of lines, and it locks the rows
// in the order of their keys, so that two orders do not wait for each other in a
// circle.
func moves(db *database.DB, from, to string) []string {
	return database.Texts(shop.MaxLines, func(n int) string {
		quantity := "?"
		where := "product_id = ?"
		if n != 1 {
			// PostgreSQL needs the type of a CASE whose values are all placeholders.
			quantity = "CASE product_id" + strings.Repeat(" WHEN ? THEN CAST(? AS INTEGER)", n) + " END"
			where = db.InKeyOrder("stock", "product_id", n)
		}
		return fmt.Sprintf("UPDATE stock SET %s = %s - %s, %s = %s + %s, version = version + 1 WHERE %s AND %s >= %s",
			from, from, quantity, to, to, quantity, where, from, quantity)
	})
}

// move runs the statement for these lines and returns how many it has moved.
func (c *Inventory) move(ctx context.Context, texts []string, lines []*shoppb.Line) (int64, error) {
	if len(lines) == 1 {
		quantity := lines[0].GetQuantity()
		return c.db.Exec(ctx, texts[1], quantity, quantity, lines[0].GetProductId(), quantity)
	}
	quantities := make([]any, 0, 2*len(lines))
	products := make([]any, 0, len(lines))
	for _, line := range lines {
		quantities = append(quantities, line.GetProductId(), line.GetQuantity())
		products = append(products, line.GetProductId())
	}
	args := make([]any, 0, 3*len(quantities)+len(products))
	args = append(args, quantities...)
	args = append(args, quantities...)
	args = append(args, products...)
	args = append(args, quantities...)
	return c.db.Exec(ctx, texts[len(lines)], args...)
}
