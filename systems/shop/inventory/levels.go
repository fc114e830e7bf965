package inventory

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Level is what there is of a product. A greater version is newer.
type Level struct {
	Stock   *shoppb.Stock
	Version int64
}

// levelsAtOnce is how many products one query asks for.
const levelsAtOnce = 64

// Levels reads what there is of products, in the transaction that the context
// carries, if any. Unknown products are left out.
func (c *Inventory) Levels(ctx context.Context, products []int64) ([]Level, error) {
	levels := make([]Level, 0, len(products))
	for len(products) > 0 {
		n := min(len(products), levelsAtOnce)
		args := make([]any, n)
		for i := range args {
			args[i] = products[i]
		}
		err := c.db.Each(ctx, func(row database.Row) error {
			level := Level{Stock: &shoppb.Stock{}}
			s := level.Stock
			err := row.Scan(&s.ProductId, &s.OnHand, &s.Reserved, &s.Sold, &level.Version)
			levels = append(levels, level)
			return err
		}, c.levels[n], args...)
		if err != nil {
			return nil, fmt.Errorf("read the stock of %d products: %w", n, err)
		}
		products = products[n:]
	}
	return levels, nil
}
