package orders

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// ErrKeyTaken means that an order with the same idempotency key is on record.
var ErrKeyTaken = errors.New("the idempotency key belongs to an order already")

// Book is the record of all orders: their content, their state, and which states
// may follow. It drives nothing.
type Book struct {
	db      *database.DB
	moveOn  string   // UPDATE to another state
	journal string   // assignment of an UPDATE
	lines   []string // INSERT by number of lines
	many    texts    // see many.go
	final   func(order string)
}

// NewBook makes the book on the tables of orders.
func NewBook(db *database.DB) *Book {
	journal := steps.Journalling(db)
	return &Book{
		db: db, many: newTexts(db), journal: journal,
		moveOn: "UPDATE orders SET state = ?, rejection_kind = ?, rejection_detail = ?, version = version + 1, lease_until_us = ?, " + journal +
			" WHERE order_id = ? AND state = ?",
		lines: database.Texts(shop.MaxLines, func(n int) string {
			return "INSERT INTO order_lines (order_id, line, product_id, name, quantity, unit_price_cents) VALUES " + database.Values(n, 6)
		}),
	}
}

// Watch has final called with the id of every order after the commit that made it
// final, in the goroutine that committed. It must be quick. The book is not in use
// yet.
func (b *Book) Watch(final func(order string)) *Book {
	b.final = final
	return b
}

// tellFinal tells who watches that an order is final, once that is committed.
func (b *Book) tellFinal(ctx context.Context, order string) {
	if b.final != nil {
		b.db.AfterCommit(ctx, func() { b.final(order) })
	}
}

// Record writes a new order in the state that it has. It fails with ErrKeyTaken
// where its key is on record, whoever came first; an order whose writer has not
// committed yet is waited for.
func (b *Book) Record(ctx context.Context, order *shoppb.Order) error {
	return b.record(ctx, order, nil)
}

// record writes an order that nobody holds, or one with a lease.
func (b *Book) record(ctx context.Context, order *shoppb.Order, lease any) error {
	return b.db.Do(ctx, func(ctx context.Context) error {
		added, err := b.db.Exec(ctx, b.many.record[1], appendRow(nil, order, lease)...)
		if err != nil {
			return fmt.Errorf("record order %s: %w", order.GetOrderId(), err)
		}
		if added == 0 {
			return ErrKeyTaken
		}
		args := make([]any, 0, 6*len(order.GetLines()))
		for i, line := range order.GetLines() {
			args = append(args, order.GetOrderId(), i, line.GetProductId(), line.GetName(), line.GetQuantity(), line.GetUnitPriceCents())
		}
		if _, err := b.db.Exec(ctx, b.lines[len(order.GetLines())], args...); err != nil {
			return fmt.Errorf("record lines of order %s: %w", order.GetOrderId(), err)
		}
		if shop.State(order.GetState()).Final() {
			b.tellFinal(ctx, order.GetOrderId())
		}
		return nil
	})
}

// Advance moves an order from one state to a later one, and reports whether it
// did: not where the order is in that state already. The states between are taken
// to be passed in the same moment. Any other state of the order is a Conflict.
// rejection is why, where the order becomes rejected.
func (b *Book) Advance(ctx context.Context, id string, from, to shop.State, rejection *shoppb.Rejection) (bool, error) {
	return b.advance(ctx, id, from, to, rejection, nil)
}

// advance moves an order that then nobody holds, or that has a lease.
func (b *Book) advance(ctx context.Context, id string, from, to shop.State, rejection *shoppb.Rejection, lease any) (bool, error) {
	if from == to || !from.MayReach(to) {
		return false, shop.Problemf(shop.Internal, "order %s: the machine has no way from %s to %s", id, from, to)
	}
	moved, err := b.db.Exec(ctx, b.moveOn, string(to), rejection.GetKind(), rejection.GetDetail(), lease,
		steps.Entry(string(to)), id, string(from))
	if err != nil {
		return false, fmt.Errorf("advance order %s from %s to %s: %w", id, from, to, err)
	}
	if moved == 1 {
		if to.Final() && !from.Final() {
			b.tellFinal(ctx, id)
		}
		return true, nil
	}
	order, err := b.Get(ctx, id)
	switch {
	case err != nil:
		return false, err
	case order.GetState() == string(to):
		return false, nil
	}
	return false, shop.Problemf(shop.Conflict, "order %s is %s, not %s", id, order.GetState(), from)
}

// Get returns the order of that id, or NotFound.
func (b *Book) Get(ctx context.Context, id string) (*shoppb.Order, error) {
	return b.only(ctx, "order "+id, "SELECT * FROM orders WHERE order_id = ?", id)
}

// ByKey returns the order of that idempotency key, or NotFound.
func (b *Book) ByKey(ctx context.Context, key string) (*shoppb.Order, error) {
	return b.only(ctx, "order with key "+key, "SELECT * FROM orders WHERE idempotency_key = ?", key)
}

func (b *Book) only(ctx context.Context, what, which string, args ...any) (*shoppb.Order, error) {
	found, err := b.read(ctx, which, args...)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", what, err)
	}
	if len(found) == 0 {
		return nil, shop.Problemf(shop.NotFound, "there is no %s", what)
	}
	return found[0], nil
}

// OfCustomer returns up to limit orders of a customer, the newest first, that are
// older than the order of id before; all where before is empty.
func (b *Book) OfCustomer(ctx context.Context, customer int64, before string, limit int) ([]*shoppb.Order, error) {
	if before == "" {
		before = "~" // after every id
	}
	found, err := b.read(ctx, "SELECT * FROM orders WHERE customer_id = ? AND order_id < ? ORDER BY order_id DESC LIMIT ?",
		customer, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list orders of customer %d: %w", customer, err)
	}
	return found, nil
}

// read returns the orders that a query on the table selects, with their lines, the
// newest first.
func (b *Book) read(ctx context.Context, which string, args ...any) ([]*shoppb.Order, error) {
	var orders []*shoppb.Order
	err := b.db.Each(ctx, func(row database.Row) error {
		order, line, rejection := &shoppb.Order{}, &shoppb.OrderLine{}, &shoppb.Rejection{}
		err := row.Scan(&order.OrderId, &order.IdempotencyKey, &order.CustomerId, &order.TotalCents, &order.State,
			&rejection.Kind, &rejection.Detail, &order.Version, &order.CreatedUnixUs,
			&line.ProductId, &line.Name, &line.Quantity, &line.UnitPriceCents)
		if err != nil {
			return err
		}
		if last := len(orders) - 1; last >= 0 && orders[last].OrderId == order.OrderId {
			order = orders[last]
		} else {
			orders = append(orders, order)
		}
		if order.State == string(shop.StateRejected) {
			order.Rejection = rejection
		}
		order.Lines = append(order.Lines, line)
		return nil
	}, `SELECT o.order_id, o.idempotency_key, o.customer_id, o.total_cents, o.state, o.rejection_kind, o.rejection_detail, o.version,
 o.created_unix_us, l.product_id, l.name, l.quantity, l.unit_price_cents
FROM (`+which+`) o JOIN order_lines l ON l.order_id = o.order_id ORDER BY o.order_id DESC, l.line`, args...)
	return orders, err
}
