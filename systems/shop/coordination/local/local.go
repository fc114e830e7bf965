// Package local carries an order through all components in one transaction of the
// database that they share: it is confirmed as a whole, or no trace is left but
// its rejection. Nobody ever sees an order between pending and final.
package local

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Coordinator implements orders.Coordinator.
type Coordinator struct {
	db         *database.DB
	book       *orders.Book
	components coordination.Components
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. The components and the book must be in this process
// and on this database, else their work is not part of its transaction.
func New(db *database.DB, book *orders.Book, components coordination.Components) *Coordinator {
	return &Coordinator{db, book, components}
}

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	var placed *shoppb.Order
	err := c.db.Do(ctx, func(ctx context.Context) (err error) {
		placed, err = c.carryOut(ctx, order)
		return err
	})
	if reason, ok := shop.Rejects(err); ok {
		placed = coordination.Rejected(order, reason)
		err = c.book.Record(ctx, placed)
	}
	if err != nil {
		return nil, err
	}
	return placed, nil
}

// carryOut takes all steps. The order is recorded as confirmed before its steps
// are taken: the transaction makes both true at once, a repeated key is found
// before any work is done, and the rows that many orders want are locked last.
func (c *Coordinator) carryOut(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	customer, err := c.components.Customers.GetCustomer(ctx, &shoppb.GetCustomerRequest{CustomerId: order.GetCustomerId()})
	if err != nil {
		return nil, err
	}
	quote, err := c.components.Catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: coordination.ProductIDs(order)})
	if err != nil {
		return nil, err
	}
	confirmed := coordination.Priced(order, quote.GetProducts())
	confirmed.State = string(shop.StateConfirmed)
	if err := c.book.Record(ctx, confirmed); err != nil {
		return nil, err
	}
	return confirmed, c.takeSteps(ctx, confirmed, customer)
}

// takeSteps takes from stock and account and ships.
func (c *Coordinator) takeSteps(ctx context.Context, order *shoppb.Order, customer *shoppb.Customer) error {
	id := order.GetOrderId()
	step := &shoppb.StepRequest{OrderId: id}
	if _, err := c.components.Inventory.Reserve(ctx, &shoppb.ReserveRequest{OrderId: id, Lines: coordination.Lines(order)}); err != nil {
		return err
	}
	authorise := &shoppb.AuthoriseRequest{OrderId: id, CustomerId: order.GetCustomerId(), AmountCents: order.GetTotalCents()}
	if _, err := c.components.Payments.Charge(ctx, authorise); err != nil {
		return err
	}
	if _, err := c.components.Inventory.Commit(ctx, step); err != nil {
		return err
	}
	_, err := c.components.Shipping.Ship(ctx, &shoppb.ShipRequest{OrderId: id, Recipient: customer.GetName(), Address: customer.GetAddress()})
	return err
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

// undo takes back the steps of a confirmed order, the last first.
func (c *Coordinator) undo(ctx context.Context, step *shoppb.StepRequest) error {
	if _, err := c.components.Shipping.Recall(ctx, step); err != nil {
		return err
	}
	if _, err := c.components.Inventory.Restock(ctx, step); err != nil {
		return err
	}
	_, err := c.components.Payments.Refund(ctx, step)
	return err
}
