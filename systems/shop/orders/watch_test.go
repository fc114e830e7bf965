package orders_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// inState returns an order to be recorded.
func inState(id string, state shop.State) *shoppb.Order {
	return &shoppb.Order{OrderId: id, IdempotencyKey: "key of " + id, State: string(state), Version: 1,
		Lines: []*shoppb.OrderLine{{Quantity: 1}}}
}

// move returns a function that advances an order.
func (b book) move(id string, from, to shop.State) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.Advance(ctx, id, from, to, nil)
		return err
	}
}

// TestTheWatcherIsCalledOnce for an order that becomes final, when its commit has returned: not for one that
// was rolled back, and not for a cancellation.
func TestTheWatcherIsCalledOnce(t *testing.T) {
	book := open(t, databasetest.Fresh(t, database.SQLite))
	failed := errors.New("the rest of the transaction failed")
	for _, step := range []struct {
		what string
		do   func(ctx context.Context) error
		want map[string]int
	}{
		{"a new order is pending", func(ctx context.Context) error {
			return book.Record(ctx, inState("a", shop.StatePending))
		}, nil},
		{"it is reserved", book.move("a", shop.StatePending, shop.StateReserved), nil},
		{"it is confirmed, but not committed", func(ctx context.Context) error {
			err := book.db.Do(ctx, func(ctx context.Context) error {
				return errors.Join(book.move("a", shop.StateReserved, shop.StateConfirmed)(ctx), failed)
			})
			if errors.Is(err, failed) {
				return nil
			}
			return err
		}, nil},
		{"it is confirmed", func(ctx context.Context) error {
			return book.db.Do(ctx, func(ctx context.Context) error {
				err := book.move("a", shop.StateReserved, shop.StateConfirmed)(ctx)
				if len(book.final) > 0 {
					t.Error("called before the commit")
				}
				return err
			})
		}, map[string]int{"a": 1}},
		{"it was confirmed", book.move("a", shop.StateReserved, shop.StateConfirmed), nil},
		{"it is cancelled", book.move("a", shop.StateConfirmed, shop.StateCancelled), nil},
		{"one is confirmed at once", func(ctx context.Context) error {
			return book.Record(ctx, inState("b", shop.StateConfirmed))
		}, map[string]int{"b": 1}},
		{"one is rejected at once", func(ctx context.Context) error {
			return book.Record(ctx, inState("c", shop.StateRejected))
		}, map[string]int{"c": 1}},
		{"one is carried on and arrives", func(ctx context.Context) error {
			err := book.Begin(ctx, orders.Beginning{Order: inState("d", shop.StatePending), Lease: 1})
			if len(book.final) > 0 {
				t.Error("called when it was begun")
			}
			return errors.Join(err, book.Arrive(ctx, orders.Underway{Order: "d", State: shop.StatePending, Lease: 1}))
		}, map[string]int{"d": 1}},
	} {
		clear(book.final)
		if err := step.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if !maps.Equal(book.final, step.want) {
			t.Errorf("%s: called for %v, want %v", step.what, book.final, step.want)
		}
	}
}
