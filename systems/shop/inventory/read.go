package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The steps read these rows before they write.

// reservation is the reservation of an order. It has no state if there is none; one that
// was released before it came has no product.
type reservation struct {
	state string
	lines []*shoppb.Line
}

// reservations reads and locks the reservations of orders.
func (c *Inventory) reservations(ctx context.Context, orders []string) (map[string]reservation, error) {
	rows, err := c.tables.Reserved(ctx, orders)
	found := map[string]reservation{}
	for _, row := range rows {
		before := found[row.OrderID]
		before.state = cmp.Or(before.state, row.State)
		before.lines = append(before.lines, &shoppb.Line{ProductId: row.ProductID, Quantity: row.Quantity})
		found[row.OrderID] = before
	}
	return found, err
}

// shelf holds the numbers on hand, by product.
type shelf map[int64]int64

// onHand reads and locks the numbers on hand of the products of orders that are not known.
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
	return c.tables.OnHand(ctx, slices.Sorted(maps.Keys(wanted)))
}

// take takes all lines of an order from the shelf, or none, and returns the number of lines
// that the shelf covers.
func (s shelf) take(lines []*shoppb.Line) (held int) {
	for _, line := range lines {
		if s[line.GetProductId()] >= line.GetQuantity() {
			held++
		}
	}
	if held == len(lines) {
		for _, line := range lines {
			s[line.GetProductId()] -= line.GetQuantity()
		}
	}
	return held
}

// Level is the stock of a product. A greater version is newer.
type Level struct {
	Stock   *shoppb.Stock
	Version int64
}

// Levels reads the stock of products, in the transaction that the context carries, if any.
// Unknown products are left out.
func (c *Inventory) Levels(ctx context.Context, products []int64) ([]Level, error) {
	rows, err := c.tables.Stock(ctx, products)
	if err != nil {
		return nil, fmt.Errorf("read the stock of %d products: %w", len(products), err)
	}
	levels := make([]Level, len(rows))
	for i, row := range rows {
		levels[i] = Level{&shoppb.Stock{ProductId: row.ProductID, OnHand: row.OnHand, Reserved: row.Reserved,
			Sold: row.Sold}, row.Version}
	}
	return levels, nil
}
