// Package local carries orders through all components in one transaction of the
// database that they share: an order is confirmed as a whole, or no trace is left but
// its rejection. No order is ever seen before it is final. Orders that come at the same
// time may share the transaction.
package local

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Components are the components of an order. The steps are in this process and on the
// database of the coordinator, else they would not be part of its transaction.
type Components struct {
	coordination.Reference // knows the customers and products of orders
	// The steps, for batches of orders.
	Reserve steps.Step[*shoppb.ReserveRequest]
	Charge  steps.Step[*shoppb.ChargeRequest]
	Commit  steps.Step[*shoppb.StepRequest]
	Ship    steps.Step[*shoppb.ShipRequest]
	// Their compensations.
	Recall, Restock, Refund steps.Ask[*shoppb.StepRequest]
}

// placing is an order that is being placed.
type placing = coordination.Placing

// Coordinator implements orders.Coordinator.
type Coordinator struct {
	db         *database.DB
	book       *orders.Book
	components Components
	place      steps.Ask[*placing]
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book and the components. batch: concurrent calls of
// Place share a transaction.
func New(db *database.DB, book *orders.Book, components Components, batch bool) *Coordinator {
	c := &Coordinator{db: db, book: book, components: components}
	c.place = batching.Ask(db, c.placeAll, batch)
	return c
}

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &placing{Order: order}
	_, err := c.place(ctx, p)
	if err == nil {
		return p.Priced, nil
	}
	// After any other error a batch may still be writing p.
	if _, refused := shop.Rejects(err); refused && p.Priced != nil {
		order = p.Priced
	}
	return coordination.Refuse(ctx, c.book, order, err)
}

// isRefused reports whether an order is refused for another reason than that its key is on record.
func isRefused(p *placing) bool { return p.Err != nil && !errors.Is(p.Err, orders.ErrKeyTaken) }

// errRefused undoes the transaction of orders of which some are refused.
var errRefused = errors.New("an order is refused")

// placeAll places a batch of orders in one transaction. If some are refused, it is
// undone and the others are placed without them: a refused order leaves no trace in any
// component. The order that took the last of the stock may be undone too: so a refused
// one is placed once more, alone, before its caller gets an answer. An order whose key is
// on record leaves no trace among others; alone, it undoes the transaction.
func (c *Coordinator) placeAll(ctx context.Context, all []*placing) ([]steps.Outcome, error) {
	left := all
	refused := func(p *placing) bool {
		if len(left) == 1 {
			return p.Err != nil
		}
		return isRefused(p)
	}
	for len(left) > 0 {
		err := c.db.Do(ctx, func(ctx context.Context) error { return c.carryOut(ctx, left, refused) })
		if err == nil {
			break
		}
		if !errors.Is(err, errRefused) {
			return nil, err
		}
		left = slices.DeleteFunc(slices.Clone(left), refused)
	}
	outcomes := make([]steps.Outcome, len(all))
	for i, p := range all {
		outcomes[i].Err = p.Err
		if len(all) > 1 && isRefused(p) {
			outcomes[i].Err = batching.ErrAlone
		}
	}
	return outcomes, nil
}

// carryOut takes all steps. The orders are recorded as confirmed before their steps
// are taken: the transaction makes both true at once, a repeated key is found
// before any work is done, and the rows that many orders want are locked last.
func (c *Coordinator) carryOut(ctx context.Context, all []*placing, refused func(*placing) bool) error {
	for _, step := range []func() error{
		func() error { return c.lookUp(ctx, all) },
		func() error { return take(ctx, all, c.book.BeginAll, placed(beginning)) },
		func() error {
			return take(ctx, all, c.components.Reserve, placed(coordination.Reservation))
		},
		func() error { return take(ctx, all, c.components.Charge, placed(coordination.Charge)) },
		func() error { return take(ctx, all, c.components.Commit, placed(coordination.Step)) },
		func() error { return take(ctx, all, c.components.Ship, shipment) },
	} {
		if err := step(); err != nil {
			return err
		}
		if slices.ContainsFunc(all, refused) {
			return errRefused
		}
	}
	return nil
}

// take takes a step for the orders without an error, and notes their errors.
func take[Q any](ctx context.Context, all []*placing, step steps.Step[Q], asks func(*placing) Q) error {
	going := slices.DeleteFunc(slices.Clone(all), func(p *placing) bool { return p.Err != nil })
	asked := make([]Q, len(going))
	for i, p := range going {
		asked[i] = asks(p)
	}
	outcomes, err := step(ctx, asked)
	for i, outcome := range outcomes {
		going[i].Err = outcome.Err
	}
	return err
}

// placed returns a function that makes the request for a placing from its priced order.
func placed[Q any](asks func(*shoppb.Order) Q) func(*placing) Q {
	return func(p *placing) Q { return asks(p.Priced) }
}

func beginning(order *shoppb.Order) orders.Beginning { return orders.Beginning{Order: order} }

func shipment(p *placing) *shoppb.ShipRequest {
	return coordination.Shipment(p.Priced, p.Customer)
}

// lookUp looks up the customers and products of orders, which are confirmed if all goes well.
func (c *Coordinator) lookUp(ctx context.Context, all []*placing) error {
	if err := coordination.LookUp(ctx, c.components, all...); err != nil {
		return err
	}
	for _, p := range all {
		if p.Err == nil {
			p.Priced.State = string(shop.StateConfirmed)
		}
	}
	return nil
}

// Cancel implements orders.Coordinator.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	var cancelled *shoppb.Order
	err := c.db.Do(ctx, func(ctx context.Context) error {
		moved, err := c.book.Advance(ctx, id, shop.StateConfirmed, shop.StateCancelled, nil)
		if err != nil {
			return err
		}
		if moved {
			if err := c.undo(ctx, &shoppb.StepRequest{OrderId: id}); err != nil {
				return err
			}
		}
		cancelled, err = c.book.Get(ctx, id)
		return err
	})
	return cancelled, err
}

// undo compensates the steps of a confirmed order, the last first.
func (c *Coordinator) undo(ctx context.Context, step *shoppb.StepRequest) error {
	for _, back := range []steps.Ask[*shoppb.StepRequest]{c.components.Recall, c.components.Restock,
		c.components.Refund} {
		if _, err := back(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
