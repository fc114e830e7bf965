package orders

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// ErrKeyTaken means that an order with the same idempotency key is on record.
var ErrKeyTaken = errors.New("the idempotency key belongs to an order already")

// Book is the record of all orders: their content and their state. It allows only the transitions of the
// state machine, and leaves the steps of an order to a Coordinator. Each change is implemented for a batch of
// orders; see package steps.
type Book struct {
	db     *database.DB
	tables Tables
	ledger steps.Ledger
	final  func(order string) // see Watch; may be nil
}

// NewBook makes the book on the tables of its database.
func NewBook(db *database.DB, tables Tables) *Book {
	return &Book{db: db, tables: tables, ledger: steps.NewLedger(db, tables, "record")}
}

// Watch sets a function that is called with the id of every order after the commit that
// made it final, in the goroutine that committed. The function must be quick. Watch must be called before the
// book is used.
func (b *Book) Watch(final func(order string)) *Book {
	b.final = final
	return b
}

// notifyFinal calls the watcher with the id of an order, after the commit.
func (b *Book) notifyFinal(ctx context.Context, order string) {
	if b.final != nil {
		b.db.AfterCommit(ctx, func() { b.final(order) })
	}
}

// Beginning is a new order that is to be written. Lease is the time until which only the writer works on the
// order, in microseconds since 1970; 0: there is no lease.
type Beginning struct {
	Order *shoppb.Order
	Lease int64
}

// GetOrderId implements steps.OfOrder.
func (b Beginning) GetOrderId() string { return b.Order.GetOrderId() }

// Record writes a new order, whatever its state. It fails with ErrKeyTaken if the order's key is on record.
// If another writer of the same key has not committed yet, Record waits for it.
func (b *Book) Record(ctx context.Context, order *shoppb.Order) error {
	return b.Begin(ctx, Beginning{Order: order})
}

// Begin is Record for an order under a lease.
func (b *Book) Begin(ctx context.Context, begun Beginning) error {
	_, err := steps.One(ctx, begun, b.BeginAll)
	return err
}

// BeginAll is Begin for a batch of orders. A key may also be taken by another order of the batch.
func (b *Book) BeginAll(ctx context.Context, all []Beginning) ([]steps.Outcome, error) {
	return steps.Do(ctx, b.db, "record", all, nil, b.begin)
}

// begin is a steps.Take. It reads nothing before it writes: the ids are new, so the orders that are on record
// after the INSERT are those that it has written. The keys of the others were taken.
func (b *Book) begin(ctx context.Context, all []Beginning, _ bool) ([]steps.Outcome, error) {
	rows := make([]steps.Row, len(all))
	for i, begun := range all {
		rows[i] = row(begun)
	}
	added, err := b.tables.Insert(ctx, rows)
	if err != nil {
		return nil, err
	}
	outcomes := make([]steps.Outcome, len(all))
	if added < int64(len(all)) {
		var written map[string]string
		if added > 0 {
			if written, err = b.ledger.States(ctx, steps.IDs(all)); err != nil {
				return nil, err
			}
		}
		for i, begun := range all {
			if written[begun.GetOrderId()] == "" {
				outcomes[i].Err = ErrKeyTaken
			}
		}
	}
	var lines []OrderLine
	for i, begun := range all {
		if outcomes[i].Err != nil {
			continue
		}
		for n, line := range begun.Order.GetLines() {
			lines = append(lines, OrderLine{begun.GetOrderId(), n, line.GetProductId(), line.GetName(),
				line.GetQuantity(), line.GetUnitPriceCents()})
		}
		if shop.State(begun.Order.GetState()).Final() {
			b.notifyFinal(ctx, begun.GetOrderId())
		}
	}
	return outcomes, b.tables.InsertLines(ctx, lines)
}

// Advance moves an order from one state to a later one, and may skip states. It returns false if the order is
// in the later state already, and a Conflict if the order is in any other state. rejection is the reason if
// the order becomes rejected. Advance ends the lease of the order.
func (b *Book) Advance(
	ctx context.Context, id string, from, to shop.State, rejection *shoppb.Rejection,
) (bool, error) {
	return b.advanceOne(ctx, id, from, to, rejection, nil)
}

// advanceOne is Advance, but gives the order a new lease: an int64, or nil for none.
func (b *Book) advanceOne(
	ctx context.Context, id string, from, to shop.State, rejection *shoppb.Rejection, lease any,
) (bool, error) {
	moved, err := steps.One(ctx, &shoppb.StepRequest{OrderId: id},
		func(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
			return b.advanceAll(ctx, all, from, to, rejection, lease)
		})
	return err == nil && !moved.GetRepeat(), err
}

// ConfirmAll is Advance for a batch of pending orders that become confirmed.
func (b *Book) ConfirmAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return b.advanceAll(ctx, all, shop.StatePending, shop.StateConfirmed, nil, nil)
}

// advanceAll is advanceOne for a batch.
func (b *Book) advanceAll(
	ctx context.Context, all []*shoppb.StepRequest, from, to shop.State, rejection *shoppb.Rejection, lease any,
) ([]steps.Outcome, error) {
	if from == to || !from.MayReach(to) {
		return nil, rpc.Problemf(rpc.Internal, "the machine has no way from %s to %s", from, to)
	}
	return steps.DoStatement(ctx, b.db, "advance", all,
		func(ctx context.Context, all []*shoppb.StepRequest, readFirst bool) ([]steps.Outcome, error) {
			outcomes, moved, err := b.ledger.AdvanceAll(ctx, steps.IDs(all), readFirst, string(from), string(to),
				func(id, state string) steps.Outcome { return unmoved(id, state, from, to) },
				rejection.GetKind(), rejection.GetDetail(), lease)
			becomesFinal := to.Final() && !from.Final()
			if err == nil && becomesFinal {
				for _, id := range moved {
					b.notifyFinal(ctx, id)
				}
			}
			return outcomes, err
		})
}

// unmoved returns the outcome of a move for an order in another state than from.
func unmoved(id, state string, from, to shop.State) steps.Outcome {
	switch state {
	case string(to):
		return steps.Outcome{Repeat: true}
	case "":
		return steps.Outcome{Err: rpc.Problemf(shop.NotFound, "there is no order %s", id)}
	}
	return steps.Outcome{Err: rpc.Problemf(shop.Conflict, "order %s is %s, not %s", id, state, from)}
}

// Get returns the order of that id, or NotFound.
func (b *Book) Get(ctx context.Context, id string) (*shoppb.Order, error) {
	found, err := b.tables.ByID(ctx, id)
	return only("order "+id, found, err)
}

// ByKey returns the order of that idempotency key, or NotFound.
func (b *Book) ByKey(ctx context.Context, key string) (*shoppb.Order, error) {
	found, err := b.tables.ByKey(ctx, key)
	return only("order with key "+key, found, err)
}

func only(what string, found []*shoppb.Order, err error) (*shoppb.Order, error) {
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", what, err)
	}
	if len(found) == 0 {
		return nil, rpc.Problemf(shop.NotFound, "there is no %s", what)
	}
	return found[0], nil
}

// OfCustomer returns up to limit orders of a customer, the newest first. If before is not empty, it is the id
// of an order, and all returned orders are older.
func (b *Book) OfCustomer(
	ctx context.Context, customer int64, before string, limit int,
) ([]*shoppb.Order, error) {
	if before == "" {
		before = "~" // after every id
	}
	found, err := b.tables.OfCustomer(ctx, customer, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list orders of customer %d: %w", customer, err)
	}
	return found, nil
}
