// Package shipping is the component that sends orders: one shipment each.
package shipping

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The states of a shipment.
const (
	StateShipped  = "shipped"
	StateRecalled = "recalled"
)

// Shipping implements shop.Shipping on its table.
type Shipping struct {
	db     *database.DB
	table  Table
	ledger steps.Ledger

	shipOne steps.Ask[*shoppb.ShipRequest]
}

var _ shop.Shipping = (*Shipping)(nil)

// New makes the component on the table of its database. batch: concurrent calls of Ship share a transaction.
func New(db *database.DB, table Table, batch bool) *Shipping {
	c := &Shipping{db: db, table: table, ledger: steps.NewLedger(db, table, "shipment")}
	c.shipOne = batching.Ask(db, c.ShipAll, batch)
	return c
}

// Ship implements shop.Shipping.
func (c *Shipping) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	if _, err := c.shipOne(ctx, in); err != nil {
		return nil, err
	}
	return &shoppb.Shipment{OrderId: in.GetOrderId(), State: StateShipped, Recipient: in.GetRecipient(),
		Address: in.GetAddress()}, nil
}

// ShipAll is Ship for a batch of orders. It does not report which orders were shipped already.
func (c *Shipping) ShipAll(ctx context.Context, all []*shoppb.ShipRequest) ([]steps.Outcome, error) {
	return steps.DoStatement(ctx, c.db, "ship", all, c.ship)
}

// ship is a steps.Take. It ignores readFirst: the INSERT itself skips orders that were shipped or recalled
// before, so refused orders leave no trace.
func (c *Shipping) ship(ctx context.Context, all []*shoppb.ShipRequest, _ bool) ([]steps.Outcome, error) {
	outcomes := make([]steps.Outcome, len(all))
	entry := steps.Entry(StateShipped)
	var rows []steps.Row
	for _, in := range all {
		rows = append(rows, Shipment{in.GetOrderId(), in.GetRecipient(), in.GetAddress(), StateShipped, entry})
	}
	if fresh, err := c.ledger.Begin(ctx, rows, nil, false); err != nil || fresh {
		return outcomes, err
	}
	states, err := c.ledger.States(ctx, steps.IDs(all))
	for n, in := range all {
		outcomes[n].Err = c.ledger.RepeatOrConflict(in.GetOrderId(), states[in.GetOrderId()], StateShipped).Err
	}
	return outcomes, err
}

// Recall implements shop.Shipping. For an order without a shipment it writes one that is empty and recalled,
// so that a late Ship is refused.
func (c *Shipping) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return steps.Single(ctx, c.db, "recall", in, func(ctx context.Context, order string) (steps.Outcome, error) {
		row := []steps.Row{Shipment{OrderID: order, State: StateRecalled, Journal: steps.Entry(StateRecalled)}}
		if fresh, err := c.ledger.Begin(ctx, row, nil, false); err != nil || fresh {
			return steps.Outcome{}, err
		}
		return c.ledger.Advance(ctx, order, StateShipped, StateRecalled)
	})
}

// GetShipment implements shop.Shipping.
func (c *Shipping) GetShipment(ctx context.Context, in *shoppb.GetShipmentRequest) (*shoppb.Shipment, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	shipment, found, err := c.table.Shipment(ctx, order)
	if err != nil {
		return nil, fmt.Errorf("get shipment of order %s: %w", order, err)
	}
	if !found {
		return nil, rpc.Problemf(shop.NotFound, "order %s has no shipment", order)
	}
	return &shoppb.Shipment{OrderId: order, State: shipment.State, Recipient: shipment.Recipient,
		Address: shipment.Address}, nil
}
