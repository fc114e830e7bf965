package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The steps of many orders at once, in the transaction that the context carries:
// a few statements for all instead of a few for each. They are for the plain case,
// in which the step is the next one of every order. Each reports whether that was
// so. Where it was not, a part may be done: the caller undoes the transaction and
// takes the step order by order, which tells what is the matter with which.

const (
	// manyProducts is how many products one statement moves. It looks through all of
	// them for each, so that more would cost more than a second statement.
	manyProducts = 32
	// manyOrders is how many orders, or lines, one statement names.
	manyOrders = shop.MaxLines
)

// ReserveAll is Reserve for orders none of which has come before, in their order. It
// returns for each why it is refused, nil where it is not. A refused one counts as
// released.
func (c *Inventory) ReserveAll(ctx context.Context, all []*shoppb.ReserveRequest) (refused []*shoppb.Rejection, plain bool, err error) {
	for _, in := range all {
		if shop.CheckOrderID(in.GetOrderId()) != nil || shop.CheckLines(in.GetLines()) != nil {
			return nil, false, nil
		}
	}
	shelf, err := c.shelf(ctx, all)
	if err != nil {
		return nil, false, many("reserve", len(all), err)
	}
	refused = make([]*shoppb.Rejection, len(all))
	wanted := map[int64]int64{} // units by product
	var rows []any
	released, reserved := steps.Entry(StateReleased), steps.Entry(StateReserved)
	for n, in := range all {
		if refused[n] = shelf.take(in.GetLines(), wanted); refused[n] != nil {
			rows = append(rows, in.GetOrderId(), 0, int64(0), int64(0), StateReleased, released)
			continue
		}
		for i, line := range in.GetLines() {
			rows = append(rows, in.GetOrderId(), i, line.GetProductId(), line.GetQuantity(), StateReserved, reserved)
		}
	}
	for part := range slices.Chunk(rows, reservationColumns*manyOrders) {
		lines := len(part) / reservationColumns
		added, err := c.db.Exec(ctx, c.record[lines], part...)
		if err != nil || added != int64(lines) {
			return nil, false, many("reserve", len(all), err)
		}
	}
	plain, err = c.moveAll(ctx, c.take, wanted)
	return refused, plain, many("reserve", len(all), err)
}

// shelf is what is on hand of some products.
type shelf map[int64]int64

// shelf reads, and locks, what is on hand of all that is wanted.
func (c *Inventory) shelf(ctx context.Context, all []*shoppb.ReserveRequest) (shelf, error) {
	found := shelf{}
	for _, in := range all {
		for _, line := range in.GetLines() {
			found[line.GetProductId()] = 0
		}
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(found)), manyOrders) {
		args := make([]any, len(part))
		for i, product := range part {
			args[i] = product
		}
		text := "SELECT product_id, on_hand FROM stock WHERE product_id IN (" + database.Placeholders(len(part)) + ")" + c.db.ForUpdate("product_id")
		err := c.db.Each(ctx, func(row database.Row) error {
			var product, onHand int64
			err := row.Scan(&product, &onHand)
			found[product] = onHand
			return err
		}, text, args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// take takes all lines of an order and adds them to what is wanted, or none and says
// why.
func (s shelf) take(lines []*shoppb.Line, wanted map[int64]int64) *shoppb.Rejection {
	there := int64(0)
	for _, line := range lines {
		if s[line.GetProductId()] >= line.GetQuantity() {
			there++
		}
	}
	if there < int64(len(lines)) {
		why, _ := shop.Rejects(outOfStock(lines, there))
		return why
	}
	for _, line := range lines {
		s[line.GetProductId()] -= line.GetQuantity()
		wanted[line.GetProductId()] += line.GetQuantity()
	}
	return nil
}

// CommitAll is Commit for orders all of which are reserved.
func (c *Inventory) CommitAll(ctx context.Context, orders []string) (bool, error) {
	sold := map[int64]int64{}
	for part := range slices.Chunk(orders, manyOrders) {
		plain, err := c.commitSome(ctx, part, sold)
		if err != nil || !plain {
			return false, many("commit", len(orders), err)
		}
	}
	moved, err := c.moveAll(ctx, c.sell, sold)
	return moved, many("commit", len(orders), err)
}

// commitSome moves the reservations of orders along and adds up what they hold.
func (c *Inventory) commitSome(ctx context.Context, orders []string, sold map[int64]int64) (bool, error) {
	ids := database.Placeholders(len(orders))
	args := []any{StateCommitted, steps.Entry(StateCommitted)}
	for _, order := range orders {
		args = append(args, order)
	}
	moved, err := c.db.Exec(ctx, "UPDATE reservations SET state = ?, "+steps.Journalling(c.db)+" WHERE order_id IN ("+ids+") AND state = ?", append(args, StateReserved)...)
	if err != nil {
		return false, err
	}
	found, lines := map[string]bool{}, int64(0)
	err = c.db.Each(ctx, func(row database.Row) error {
		var order string
		var product, quantity int64
		err := row.Scan(&order, &product, &quantity)
		found[order] = true
		sold[product] += quantity
		lines++
		return err
	}, "SELECT order_id, product_id, quantity FROM reservations WHERE order_id IN ("+ids+")", args[2:len(orders)+2]...)
	return err == nil && lines == moved && len(found) == len(orders), err
}

// moveAll moves quantities of products, and reports whether there was enough of all.
func (c *Inventory) moveAll(ctx context.Context, texts []string, quantities map[int64]int64) (bool, error) {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(quantities)), manyProducts) {
		lines := make([]*shoppb.Line, len(part))
		for i, product := range part {
			lines[i] = &shoppb.Line{ProductId: product, Quantity: quantities[product]}
		}
		moved, err := c.move(ctx, texts, lines)
		if err != nil || moved != int64(len(part)) {
			return false, err
		}
	}
	return true, nil
}

// many names what was done for many orders in an error; nil stays nil.
func many(doing string, orders int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %d orders: %w", doing, orders, err)
}
