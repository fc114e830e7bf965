package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// What is written of many orders at once, in one transaction and with a few
// statements for all instead of a few for each.

const (
	// manyOrders is how many orders one statement writes or names.
	manyOrders = 32
	// manyLines is how many lines one statement writes.
	manyLines = shop.MaxLines
)

// texts of statements about many orders, by their number.
type texts struct {
	record  []string
	present []string
	confirm []string
	arrive  []string
}

func newTexts(db *database.DB) texts {
	in := func(begin, end string) []string {
		return database.Texts(manyOrders, func(n int) string { return begin + " WHERE order_id IN (" + database.Placeholders(n) + ")" + end })
	}
	journal := steps.Journalling(db)
	return texts{
		record: database.Texts(manyOrders, func(n int) string {
			return "INSERT INTO orders (order_id, idempotency_key, customer_id, total_cents, state, rejection_kind, rejection_detail, version, created_unix_us, lease_until_us, journal) VALUES " +
				database.Values(n, orderColumns) + db.KeepExisting("order_id")
		}),
		present: in("SELECT order_id FROM orders", ""),
		confirm: in("UPDATE orders SET state = ?, version = version + 1, "+journal, " AND state = ?"),
		arrive: database.Texts(manyOrders, func(n int) string {
			return "UPDATE orders SET state = ?, version = version + 1, lease_until_us = NULL, " + journal + " WHERE " +
				strings.TrimSuffix(strings.Repeat("order_id = ? AND lease_until_us = ? OR ", n), " OR ")
		}),
	}
}

// orderColumns is how many values an order is written with.
const orderColumns = 11

// appendRow adds the values of an order. Its journal begins now.
func appendRow(rows []any, order *shoppb.Order, lease any) []any {
	why := order.GetRejection()
	return append(rows, order.GetOrderId(), order.GetIdempotencyKey(), order.GetCustomerId(), order.GetTotalCents(), order.GetState(),
		why.GetKind(), why.GetDetail(), order.GetVersion(), order.GetCreatedUnixUs(), lease, steps.Entry(order.GetState()))
}

// RecordAll is Record for many orders. It returns the ids of those whose key is on
// record, be it that of another of them; these leave no trace.
func (b *Book) RecordAll(ctx context.Context, all []*shoppb.Order) (taken map[string]bool, err error) {
	return b.recordAll(ctx, all, nil)
}

// recordAll writes orders that nobody holds, or that have leases, by their ids.
func (b *Book) recordAll(ctx context.Context, all []*shoppb.Order, leases map[string]int64) (taken map[string]bool, err error) {
	err = b.db.Do(ctx, func(ctx context.Context) error {
		taken = map[string]bool{}
		for part := range slices.Chunk(all, manyOrders) {
			if err := b.recordSome(ctx, part, leases, taken); err != nil {
				return fmt.Errorf("record %d orders: %w", len(all), err)
			}
		}
		if err := b.recordLines(ctx, all, taken); err != nil {
			return fmt.Errorf("record the lines of %d orders: %w", len(all), err)
		}
		for _, order := range all {
			if shop.State(order.GetState()).Final() && !taken[order.GetOrderId()] {
				b.tellFinal(ctx, order.GetOrderId())
			}
		}
		return nil
	})
	return taken, err
}

// recordSome writes orders without their lines and adds those that it could not.
func (b *Book) recordSome(ctx context.Context, some []*shoppb.Order, leases map[string]int64, taken map[string]bool) error {
	rows := make([]any, 0, orderColumns*len(some))
	for _, order := range some {
		var lease any
		if until, held := leases[order.GetOrderId()]; held {
			lease = until
		}
		rows = appendRow(rows, order, lease)
	}
	added, err := b.db.Exec(ctx, b.many.record[len(some)], rows...)
	if err != nil || added == int64(len(some)) {
		return err
	}
	ids := make([]any, len(some))
	for i, order := range some {
		ids[i] = order.GetOrderId()
		taken[order.GetOrderId()] = true
	}
	return b.db.Each(ctx, func(row database.Row) error {
		var written string
		err := row.Scan(&written)
		delete(taken, written)
		return err
	}, b.many.present[len(some)], ids...)
}

// recordLines writes the lines of orders that are not taken.
func (b *Book) recordLines(ctx context.Context, all []*shoppb.Order, taken map[string]bool) error {
	var rows []any
	for _, order := range all {
		if taken[order.GetOrderId()] {
			continue
		}
		for i, line := range order.GetLines() {
			rows = append(rows, order.GetOrderId(), i, line.GetProductId(), line.GetName(), line.GetQuantity(), line.GetUnitPriceCents())
		}
	}
	for part := range slices.Chunk(rows, 6*manyLines) {
		if _, err := b.db.Exec(ctx, b.lines[len(part)/6], part...); err != nil {
			return err
		}
	}
	return nil
}

// ConfirmAll makes many pending orders confirmed, in the transaction that the
// context carries, and reports whether all of them were pending. Where not, a part
// may be done: the caller undoes the transaction and goes order by order.
func (b *Book) ConfirmAll(ctx context.Context, ids []string) (bool, error) {
	for part := range slices.Chunk(ids, manyOrders) {
		args := []any{string(shop.StateConfirmed), steps.Entry(string(shop.StateConfirmed))}
		for _, id := range part {
			args = append(args, id)
		}
		moved, err := b.db.Exec(ctx, b.many.confirm[len(part)], append(args, string(shop.StatePending))...)
		if err != nil {
			return false, fmt.Errorf("confirm %d orders: %w", len(ids), err)
		}
		if moved != int64(len(part)) {
			return false, nil
		}
	}
	for _, id := range ids {
		b.tellFinal(ctx, id)
	}
	return true, nil
}

// Beginning is an order that is to be begun.
type Beginning struct {
	Order *shoppb.Order
	Lease int64
}

// BeginAll is Begin for many orders, in the transaction that the context carries. It
// reports whether none of their keys was on record; else the caller undoes the
// transaction and goes order by order.
func (b *Book) BeginAll(ctx context.Context, all []Beginning) (bool, error) {
	pending, leases := make([]*shoppb.Order, len(all)), make(map[string]int64, len(all))
	for i, begun := range all {
		pending[i] = begun.Order
		leases[begun.Order.GetOrderId()] = begun.Lease
	}
	taken, err := b.recordAll(ctx, pending, leases)
	return len(taken) == 0, err
}

// ArriveAll is Arrive for many orders that are to be confirmed, in the transaction
// that the context carries. It reports whether nobody has overtaken one; else the
// caller undoes the transaction and goes order by order.
func (b *Book) ArriveAll(ctx context.Context, all []Underway) (bool, error) {
	for part := range slices.Chunk(all, manyOrders) {
		args := []any{string(shop.StateConfirmed), steps.Entry(string(shop.StateConfirmed))}
		for _, u := range part {
			if u.Reason != nil {
				return false, nil
			}
			args = append(args, u.Order, u.Lease)
		}
		moved, err := b.db.Exec(ctx, b.many.arrive[len(part)], args...)
		if err != nil || moved != int64(len(part)) {
			return false, err
		}
	}
	for _, u := range all {
		b.tellFinal(ctx, u.Order)
	}
	return true, nil
}
