package choreographed

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Coordinator implements orders.Coordinator: it takes an order and tells so, and
// answers that it is pending.
type Coordinator struct {
	db        *database.DB
	book      *orders.Book
	reference Reference
	sender    Sender
	place     steps.Ask[*placing]
}

// Reference is what the orders know of catalog and customers; see package reference.
type Reference interface {
	// Of looks up what some orders are about.
	Of(ctx context.Context, orders []*shoppb.Order) (coordination.Known, error)
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book, and the one of which the sender knows the
// transactions.
func New(db *database.DB, book *orders.Book, sender Sender, reference Reference) *Coordinator {
	c := &Coordinator{db: db, book: book, reference: reference, sender: sender}
	c.place = steps.Alone(c.placeAll)
	return c
}

// Batch has orders that come at the same time taken in one transaction. It is called
// before the first order.
func (c *Coordinator) Batch() { c.place = batching.New(c.db, c.placeAll).Do }

// placing is an order that is being placed, and then what came of it.
type placing struct {
	order  *shoppb.Order
	placed *shoppb.Order
}

// GetOrderId makes it what asks for a step.
func (p *placing) GetOrderId() string { return p.order.GetOrderId() }

// Key names the order among those of a batch; see batching.Keyed.
func (p *placing) Key() string { return p.order.GetOrderId() }

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &placing{order: order}
	_, err := c.place(ctx, p)
	return p.placed, err
}

// placeAll takes orders: it prices them, writes them down and tells of those whose keys
// are not on record, in one transaction.
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
			begun, told := make([]orders.Beginning, len(all)), make([]events.Event, len(all))
			for i, p := range all {
				p.placed, told[i] = price(known, p.order)
				begun[i].Order = p.placed
			}
			outcomes, err := c.book.BeginAll(ctx, begun)
			if err != nil {
				return nil, err
			}
			for i, came := range outcomes {
				if came.Err != nil {
					told[i] = nil
				}
			}
			return outcomes, tell(ctx, c.sender, told...)
		})
}

// price returns an order as it is taken, with what is told of it: it is rejected where
// there is no such customer or product.
func price(k coordination.Known, order *shoppb.Order) (*shoppb.Order, events.Event) {
	placed, customer, err := k.Price(order)
	if why, refused := shop.Rejects(err); refused {
		rejected := coordination.Rejected(order, why)
		return rejected, &shoppb.OrderRejected{Order: rejected}
	}
	return placed, &shoppb.OrderPlaced{Order: placed, Recipient: customer.GetName(),
		Address: customer.GetAddress()}
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
		return tell(ctx, c.sender, &shoppb.OrderCancelled{Order: cancelled})
	})
	return cancelled, err
}

// advanced returns a copy of a pending order in its next state.
func advanced(order *shoppb.Order, state shop.State, why *shoppb.Rejection) *shoppb.Order {
	next := proto.CloneOf(order)
	next.State, next.Rejection, next.Version = string(state), why, order.GetVersion()+1
	return next
}
