package reacting

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Coordinator implements orders.Coordinator: it records an order, publishes that, and
// answers that the order is pending.
type Coordinator struct {
	db        *database.DB
	book      *orders.Book
	reference coordination.Reference
	sender    Sender
	saga      Saga
	place     steps.Ask[*coordination.Placing]
}

// Saga makes the events that carry new and cancelled orders on, in the transaction that the
// context carries.
type Saga struct {
	// Begin begins the sagas of orders that were just recorded as pending.
	Begin func(ctx context.Context, all []*coordination.Placing) ([]events.Event, error)
	// Undo begins the compensations of an order that was just cancelled.
	Undo func(ctx context.Context, cancelled *shoppb.Order) ([]events.Event, error)
}

// Placed returns the event of an order that was just recorded as pending.
func Placed(p *coordination.Placing) *shoppb.OrderPlaced {
	return &shoppb.OrderPlaced{Order: p.Priced, Recipient: p.Customer.GetName(),
		Address: p.Customer.GetAddress()}
}

var _ orders.Coordinator = (*Coordinator)(nil)

// NewCoordinator returns a coordinator. The book and the sender use the database db. batch: concurrent calls
// of Place share a transaction.
func NewCoordinator(
	db *database.DB, book *orders.Book, sender Sender, reference coordination.Reference, batch bool, saga Saga,
) *Coordinator {
	c := &Coordinator{db: db, book: book, reference: reference, sender: sender, saga: saga}
	c.place = batching.Ask(db, c.placeAll, batch)
	return c
}

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &coordination.Placing{Order: order}
	if _, err := c.place(ctx, p); err != nil {
		return nil, err // not p.Priced: its batch may still be writing it
	}
	return p.Priced, nil
}

// placeAll prices orders, records those whose keys are new, and publishes that, in one
// transaction. An order without a known customer and known products is rejected.
func (c *Coordinator) placeAll(
	ctx context.Context, all []*coordination.Placing,
) ([]steps.Outcome, error) {
	if err := coordination.LookUp(ctx, c.reference, all...); err != nil {
		return nil, err
	}
	return steps.Do(ctx, c.db, "place", all, nil,
		func(ctx context.Context, all []*coordination.Placing, _ bool) ([]steps.Outcome, error) {
			begun := make([]orders.Beginning, len(all))
			for i, p := range all {
				if why, refused := shop.Rejects(p.Err); refused {
					p.Priced = coordination.Rejected(p.Order, why)
				}
				begun[i].Order = p.Priced
			}
			outcomes, err := c.book.BeginAll(ctx, begun)
			if err != nil {
				return nil, err
			}
			var published []events.Event
			var taken []*coordination.Placing
			for i, p := range all {
				switch {
				case outcomes[i].Err != nil:
				case p.Err != nil:
					published = append(published, &shoppb.OrderRejected{Order: p.Priced})
				default:
					taken = append(taken, p)
				}
			}
			next, err := c.saga.Begin(ctx, taken)
			if err != nil {
				return nil, err
			}
			return outcomes, Publish(ctx, c.sender, append(published, next...)...)
		})
}

// Cancel implements orders.Coordinator. The order counts as cancelled once that is
// on record; the components undo their steps when they get its events.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	var cancelled *shoppb.Order
	err := c.db.Do(ctx, func(ctx context.Context) error {
		moved, err := c.book.Advance(ctx, id, shop.StateConfirmed, shop.StateCancelled, nil)
		if err != nil {
			return err
		}
		if cancelled, err = c.book.Get(ctx, id); err != nil || !moved {
			return err
		}
		published, err := c.saga.Undo(ctx, cancelled)
		if err != nil {
			return err
		}
		return Publish(ctx, c.sender, published...)
	})
	return cancelled, err
}
