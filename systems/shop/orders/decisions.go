package orders

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The coordinator of a two-phase commit writes its decision into the row of the order: the state is the
// decision, and the lease stays until all participants have got it.

// ErrBusy means that another coordinator works on an order.
var ErrBusy = errors.New("another coordinator works on the order")

// Decide writes down the state of an order, and the reason if it is rejected. If another coordinator has
// taken the order over, it fails with ErrOvertaken. A rejection ends the lease, since no participant needs to
// get it.
func (b *Book) Decide(ctx context.Context, u Underway, to shop.State, reason *shoppb.Rejection) error {
	lease := any(u.Lease)
	if to == shop.StateRejected {
		lease = nil
	}
	change := Change{NewVersion: true, Entry: steps.Entry(string(to)),
		Columns: append(rejectionColumns(reason), Column{columnState, string(to)}, Column{columnLease, lease})}
	if err := b.changeHeld(ctx, "decide", u, change); err != nil {
		return err
	}
	if !u.State.Final() {
		b.notifyFinal(ctx, u.Order)
	}
	return nil
}

// Forget ends the lease of an order: all participants have got the decision.
func (b *Book) Forget(ctx context.Context, u Underway) error {
	return b.changeHeld(ctx, "forget", u, Change{Columns: []Column{{columnLease, nil}}})
}

// Hold takes the lease of a confirmed order, and reports whether the order is cancelled already. It fails
// with ErrBusy if the order has a lease, and in any other state as Advance does.
func (b *Book) Hold(ctx context.Context, id string, lease int64) (u Underway, cancelled bool, err error) {
	u = Underway{Order: id, State: shop.StateConfirmed, Lease: lease}
	held, err := b.tables.Hold(ctx, id, shop.StateConfirmed, lease)
	if err != nil || held == 1 {
		return u, false, err
	}
	states, err := b.ledger.States(ctx, []string{id})
	switch {
	case err != nil:
		return u, false, fmt.Errorf("hold order %s: %w", id, err)
	case states[id] == string(shop.StateConfirmed):
		return u, false, ErrBusy
	}
	outcome := unmoved(id, states[id], shop.StateConfirmed, shop.StateCancelled)
	return u, outcome.Repeat, outcome.Err
}

// Standing returns the state of an order, empty if it is not on record, and its lease, 0 if it has none.
func (b *Book) Standing(ctx context.Context, id string) (u Underway, err error) {
	if u, err = b.tables.Standing(ctx, id); err != nil {
		err = fmt.Errorf("read the state of order %s: %w", id, err)
	}
	return u, err
}
