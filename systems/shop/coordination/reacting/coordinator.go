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
	place     steps.Ask[*placing]
}

// Saga makes the events that carry new and cancelled orders on, in the transaction that the
// context carries.
type Saga struct {
	// Begin begins the sagas of orders that were just recorded.
	Begin func(ctx context.Context, all []Taken) ([]events.Event, error)
	// Undo begins the compensations of an order that was just cancelled.
	Undo func(ctx context.Context, cancelled *shoppb.Order) ([]events.Event, error)
}

// Taken is a new order that was not rejected: it is pending.
type Taken struct {
	Order    *shoppb.Order
	Customer *shoppb.Customer
}

// Placed returns the event of the new order.
func (t Taken) Placed() *shoppb.OrderPlaced {
	return &shoppb.OrderPlaced{Order: t.Order, Recipient: t.Customer.GetName(), Address: t.Customer.GetAddress()}
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

// placing is a request to place an order, and its result.
type placing struct {
	order  *shoppb.Order
	placed *shoppb.Order
}

// GetOrderId implements steps.OfOrder.
func (p *placing) GetOrderId() string { return p.order.GetOrderId() }

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &placing{order: order}
	if _, err := c.place(ctx, p); err != nil {
		return nil, err // not p.placed: its batch may still be writing it
	}
	return p.placed, nil
}

// placeAll prices orders, records those whose keys are new, and publishes that, in one
// transaction.
func (c *Coordinator) placeAll(ctx context.Context, all []*placing) ([]steps.Outcome, error) {
	wanted := make([]*shoppb.Order, len(all))
	for i, p := range all {
		wanted[i] = p.order
	}
	known, err := c.reference.Of(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return steps.Do(ctx, c.db, "place", all, nil,
		func(ctx context.Context, all []*placing, _ bool) ([]steps.Outcome, error) {
			begun, customers := make([]orders.Beginning, len(all)), make([]*shoppb.Customer, len(all))
			for i, p := range all {
				p.placed, customers[i] = price(known, p.order)
				begun[i].Order = p.placed
			}
			outcomes, err := c.book.BeginAll(ctx, begun)
			if err != nil {
				return nil, err
			}
			var published []events.Event
			var taken []Taken
			for i, p := range all {
				switch {
				case outcomes[i].Err != nil:
				case customers[i] == nil:
					published = append(published, &shoppb.OrderRejected{Order: p.placed})
				default:
					taken = append(taken, Taken{p.placed, customers[i]})
				}
			}
			next, err := c.saga.Begin(ctx, taken)
			if err != nil {
				return nil, err
			}
			return outcomes, Publish(ctx, c.sender, append(published, next...)...)
		})
}

// price returns an order with its prices, and its customer. If there is no such customer or product, it
// returns the rejected order and no customer.
func price(k coordination.Known, order *shoppb.Order) (*shoppb.Order, *shoppb.Customer) {
	placed, customer, err := k.Price(order)
	if why, refused := shop.Rejects(err); refused {
		return coordination.Rejected(order, why), nil
	}
	return placed, customer
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
