package choreographed

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Coordinator implements orders.Coordinator: it takes an order and tells so, and
// answers that it is pending.
type Coordinator struct {
	db      *database.DB
	book    *orders.Book
	replica replica
	outbox  Outbox
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book, with the replica of
// catalog and customers and the outbox in it.
func New(db *database.DB, book *orders.Book, outbox Outbox) *Coordinator {
	return &Coordinator{db: db, book: book, replica: newReplica(db), outbox: outbox}
}

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	placed, customer, err := c.price(ctx, order)
	if why, refused := shop.Rejects(err); refused {
		rejected := coordination.Rejected(order, why)
		return rejected, c.record(ctx, rejected, &shoppb.OrderRejected{Order: rejected})
	}
	if err != nil {
		return nil, err
	}
	return placed, c.record(ctx, placed, &shoppb.OrderPlaced{Order: placed, Recipient: customer.GetName(), Address: customer.GetAddress()})
}

// price looks up what must be known before an order is taken.
func (c *Coordinator) price(ctx context.Context, order *shoppb.Order) (*shoppb.Order, *shoppb.Customer, error) {
	customer, err := c.replica.customer(ctx, order.GetCustomerId())
	if err != nil {
		return nil, nil, err
	}
	products, err := c.replica.products(ctx, coordination.ProductIDs(order))
	if err != nil {
		return nil, nil, err
	}
	return coordination.Priced(order, products), customer, nil
}

// record writes a new order and what is told of it, in one transaction.
func (c *Coordinator) record(ctx context.Context, order *shoppb.Order, e events.Event) error {
	return c.db.Do(ctx, func(ctx context.Context) error {
		if err := c.book.Record(ctx, order); err != nil {
			return err
		}
		return tell(ctx, c.outbox, e)
	})
}

// Cancel implements orders.Coordinator. The order counts as cancelled once that is
// on record; the components undo their steps when they are told.
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
		return tell(ctx, c.outbox, &shoppb.OrderCancelled{Order: cancelled})
	})
	return cancelled, err
}

// advanced is a copy of a pending order in its next state.
func advanced(order *shoppb.Order, state shop.State, why *shoppb.Rejection) *shoppb.Order {
	next := proto.CloneOf(order)
	next.State, next.Rejection, next.Version = string(state), why, order.GetVersion()+1
	return next
}
