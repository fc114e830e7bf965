package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// What the steps look at before they write.

// reservation holds what an order has reserved. It has no state where there is none; one
// that was released before it came has no product.
type reservation struct {
	state string
	lines []*shoppb.Line
}

// reservations reads, and locks, what orders have reserved.
func (c *Inventory) reservations(ctx context.Context, orders []string) (map[string]reservation, error) {
	found := map[string]reservation{}
	err := database.EachOf(ctx, c.db, func(row database.Row) error {
		var order, state string
		line := &shoppb.Line{}
		err := row.Scan(&order, &state, &line.ProductId, &line.Quantity)
		before := found[order]
		before.state = cmp.Or(before.state, state)
		before.lines = append(before.lines, line)
		found[order] = before
		return err
	}, c.lines, orders)
	return found, err
}

// shelf holds the numbers on hand, by product.
type shelf map[int64]int64

// onHand reads, and locks, what is on hand of the products that orders want, but for
// those that are known.
func (c *Inventory) onHand(
	ctx context.Context, all []*shoppb.ReserveRequest, known map[string]reservation,
) (shelf, error) {
	wanted := map[int64]bool{}
	for _, in := range all {
		for _, line := range in.GetLines() {
			if known[in.GetOrderId()].state == "" {
				wanted[line.GetProductId()] = true
			}
		}
	}
	return database.Pairs[int64, int64](ctx, c.db, c.shelf, slices.Sorted(maps.Keys(wanted)))
}

// take takes all lines of an order from the shelf, or none, and returns for how many
// there was enough.
func (s shelf) take(lines []*shoppb.Line) (there int) {
	for _, line := range lines {
		if s[line.GetProductId()] >= line.GetQuantity() {
			there++
		}
	}
	if there == len(lines) {
		for _, line := range lines {
			s[line.GetProductId()] -= line.GetQuantity()
		}
	}
	return there
}

// Level is the stock of a product. A greater version is newer.
type Level struct {
	Stock   *shoppb.Stock
	Version int64
}

// Levels reads what there is of products, in the transaction that the context
// carries, if any. Unknown products are left out.
func (c *Inventory) Levels(ctx context.Context, products []int64) ([]Level, error) {
	levels := make([]Level, 0, len(products))
	err := database.EachOf(ctx, c.db, func(row database.Row) error {
		level := Level{Stock: &shoppb.Stock{}}
		s := level.Stock
		err := row.Scan(&s.ProductId, &s.OnHand, &s.Reserved, &s.Sold, &level.Version)
		levels = append(levels, level)
		return err
	}, c.levels, products)
	if err != nil {
		return nil, fmt.Errorf("read the stock of %d products: %w", len(products), err)
	}
	return levels, nil
}
