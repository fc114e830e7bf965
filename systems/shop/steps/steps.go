// Package steps keeps how far each order has come in one component, so that a
// repeated step changes nothing and a step after its compensation is refused; and
// what it has gone through, in journals (journal.go). It knows states by name only;
// what a step does is the component's matter.
package steps

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Ledger is a table with the columns order_id, state and journal, in which all rows
// of an order have the same state and journal.
type Ledger struct {
	db         *database.DB
	what       string // a row, for messages: "reservation"
	move, look string
}

// NewLedger makes a ledger of a table. what names a row in messages.
func NewLedger(db *database.DB, table, what string) Ledger {
	return Ledger{
		db: db, what: what,
		move: "UPDATE " + table + " SET state = ?, " + Journalling(db) + " WHERE order_id = ? AND state = ?",
		look: "SELECT state FROM " + table + " WHERE order_id = ? LIMIT 1",
	}
}

// Advance moves an order from one state to the next and reports whether it did:
// not where the order was there already. From any other state it is a Conflict.
func (l Ledger) Advance(ctx context.Context, order, from, to string) (bool, error) {
	moved, err := l.db.Exec(ctx, l.move, to, Entry(to), order, from)
	if err != nil || moved > 0 {
		return moved > 0, err
	}
	return false, l.Expect(ctx, order, to)
}

// Step advances an order and does with it, in the same transaction, what the step is
// about. Where the order was there already it does nothing, and the answer says so.
func (l Ledger) Step(ctx context.Context, doing, order, from, to string, do func(context.Context) error) (*shoppb.StepResponse, error) {
	answer := &shoppb.StepResponse{}
	err := l.db.Do(ctx, func(ctx context.Context) error {
		moved, err := l.Advance(ctx, order, from, to)
		answer.Repeat = !moved
		if err != nil || !moved {
			return err
		}
		return do(ctx)
	})
	return answer, Named(doing, order, err)
}

// Expect returns nil where the order is in one of the states, else a Conflict.
func (l Ledger) Expect(ctx context.Context, order string, states ...string) error {
	var state string
	found, err := l.db.One(ctx, []any{&state}, l.look, order)
	switch {
	case err != nil:
		return err
	case !found:
		return shop.Problemf(shop.Conflict, "order %s has no %s", order, l.what)
	case !slices.Contains(states, state):
		return shop.Problemf(shop.Conflict, "the %s of order %s is %s, not %s", l.what, order, state, states[0])
	}
	return nil
}

// Named adds what a component was doing to an error; nil stays nil.
func Named(doing, order string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s order %s: %w", doing, order, err)
}
