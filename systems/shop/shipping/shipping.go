// Package shipping is the component that sends orders: one shipment each.
package shipping

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
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
	ledger steps.Ledger
	// record is INSERT by number of shipments, see ShipAll.
	record []string
}

var _ shop.Shipping = (*Shipping)(nil)

// New makes the component on its database.
func New(db *database.DB) *Shipping {
	return &Shipping{
		db: db, ledger: steps.NewLedger(db, "shipments", "shipment"),
		record: database.Texts(manyShipments, func(n int) string {
			return "INSERT INTO shipments (order_id, recipient, address, state, journal) VALUES " + database.Values(n, shipmentColumns) + db.KeepExisting("order_id")
		}),
	}
}

// shipmentColumns is how many values a shipment is written with.
const shipmentColumns = 5

// Ship implements shop.Shipping.
func (c *Shipping) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	// One statement decides: it needs no transaction around it.
	added, err := c.db.Exec(ctx, c.record[1], order, in.GetRecipient(), in.GetAddress(), StateShipped, steps.Entry(StateShipped))
	if err == nil && added == 0 {
		err = c.ledger.Expect(ctx, order, StateShipped)
	}
	if err != nil {
		return nil, steps.Named("ship", order, err)
	}
	return Shipped(in), nil
}

// Shipped is the shipment that a request leads to.
func Shipped(in *shoppb.ShipRequest) *shoppb.Shipment {
	return &shoppb.Shipment{OrderId: in.GetOrderId(), State: StateShipped, Recipient: in.GetRecipient(), Address: in.GetAddress()}
}

// Recall implements shop.Shipping.
func (c *Shipping) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	answer := &shoppb.StepResponse{}
	err := c.db.Do(ctx, func(ctx context.Context) error {
		added, err := c.db.Exec(ctx, c.record[1], order, "", "", StateRecalled, steps.Entry(StateRecalled))
		if err != nil || added > 0 {
			return err
		}
		moved, err := c.ledger.Advance(ctx, order, StateShipped, StateRecalled)
		answer.Repeat = !moved
		return err
	})
	return answer, steps.Named("recall", order, err)
}

// GetShipment implements shop.Shipping.
func (c *Shipping) GetShipment(ctx context.Context, in *shoppb.GetShipmentRequest) (*shoppb.Shipment, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	shipment := &shoppb.Shipment{OrderId: order}
	found, err := c.db.One(ctx, []any{&shipment.State, &shipment.Recipient, &shipment.Address},
		"SELECT state, recipient, address FROM shipments WHERE order_id = ?", order)
	if err != nil {
		return nil, fmt.Errorf("get shipment of order %s: %w", order, err)
	}
	if !found {
		return nil, shop.Problemf(shop.NotFound, "order %s has no shipment", order)
	}
	return shipment, nil
}
