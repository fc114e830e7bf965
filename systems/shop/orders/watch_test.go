package orders_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// inState returns an order to be recorded.
func inState(id string, state shop.State) *shoppb.Order {
	return &shoppb.Order{OrderId: id, IdempotencyKey: "key of " + id, State: string(state), Version: 1,
		Lines: []*shoppb.OrderLine{{Quantity: 1}}}
}

// watched is a book of which somebody is told.
type watched struct {
	*orders.Book
	db   *database.DB
	told []string
}

func watch(t *testing.T) *watched {
	t.Helper()
	db := shoptest.Open(t, databasetest.Fresh(t, database.SQLite), shop.Seed{}, shop.ComponentOrders)
	w := &watched{Book: orders.NewBook(db, orders.BySQL(db)), db: db}
	w.Watch(func(order string) { w.told = append(w.told, order) })
	return w
}

// move advances an order.
func (w *watched) move(id string, from, to shop.State) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.Advance(ctx, id, from, to, nil)
		return err
	}
}

// TestWhoWatchesIsToldOnce: an order becomes final once, when its commit has
// returned; nothing is told of what was not committed, and nothing of its cancelling.
func TestWhoWatchesIsToldOnce(t *testing.T) {
	book := watch(t)
	failed := errors.New("the rest of the transaction failed")
	for _, step := range []struct {
		what string
		do   func(ctx context.Context) error
		want []string
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
				if len(book.told) > 0 {
					t.Error("told before the commit")
				}
				return err
			})
		}, []string{"a"}},
		{"it was confirmed", book.move("a", shop.StateReserved, shop.StateConfirmed), nil},
		{"it is cancelled", book.move("a", shop.StateConfirmed, shop.StateCancelled), nil},
		{"one is confirmed at once", func(ctx context.Context) error {
			return book.Record(ctx, inState("b", shop.StateConfirmed))
		}, []string{"b"}},
		{"one is rejected at once", func(ctx context.Context) error {
			return book.Record(ctx, inState("c", shop.StateRejected))
		}, []string{"c"}},
		{"one is carried on and arrives", func(ctx context.Context) error {
			err := book.Begin(ctx, orders.Beginning{Order: inState("d", shop.StatePending), Lease: 1})
			if len(book.told) > 0 {
				t.Error("told when it was begun")
			}
			return errors.Join(err, book.Arrive(ctx, orders.Underway{Order: "d", State: shop.StatePending, Lease: 1}))
		}, []string{"d"}},
	} {
		book.told = nil
		if err := step.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if !slices.Equal(book.told, step.want) {
			t.Errorf("%s: told of %q, want %q", step.what, book.told, step.want)
		}
	}
}
