package batching

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// NewInventory batches the forward steps of an inventory on its database.
func NewInventory(db *database.DB, component *inventory.Inventory) shop.Inventory {
	return &stock{component, newBatcher(db, component.ReserveAll), New(db, component.CommitAll)}
}

type stock struct {
	shop.Inventory
	reserve *Batcher[*shoppb.ReserveRequest]
	commit  *Batcher[string]
}

// Reserve implements shop.Inventory.
func (s *stock) Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	return step(ctx, s.reserve, in, func(ctx context.Context) (*shoppb.StepResponse, error) { return s.Inventory.Reserve(ctx, in) })
}

// Commit implements shop.Inventory.
func (s *stock) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return step(ctx, s.commit, in.GetOrderId(), func(ctx context.Context) (*shoppb.StepResponse, error) { return s.Inventory.Commit(ctx, in) })
}

// NewPayments batches the forward steps of payments on their database.
func NewPayments(db *database.DB, component *payments.Payments) shop.Payments {
	return &accounts{component, newBatcher(db, component.ChargeAll)}
}

type accounts struct {
	shop.Payments
	charge *Batcher[*shoppb.AuthoriseRequest]
}

// Charge implements shop.Payments.
func (a *accounts) Charge(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error) {
	return step(ctx, a.charge, in, func(ctx context.Context) (*shoppb.StepResponse, error) { return a.Payments.Charge(ctx, in) })
}

// NewShipping batches the forward steps of a shipping on its database.
func NewShipping(db *database.DB, component *shipping.Shipping) shop.Shipping {
	return &shipments{component, New(db, component.ShipAll)}
}

type shipments struct {
	shop.Shipping
	ship *Batcher[*shoppb.ShipRequest]
}

// Ship implements shop.Shipping.
func (s *shipments) Ship(ctx context.Context, in *shoppb.ShipRequest) (shipment *shoppb.Shipment, err error) {
	shipment = shipping.Shipped(in)
	err = s.ship.Do(ctx, in, func(ctx context.Context) (err error) {
		shipment, err = s.Shipping.Ship(ctx, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shipment, nil
}

// step is a step with others, which is then no repeat, or alone.
func step[Q any](ctx context.Context, batcher *Batcher[Q], asks Q, alone func(context.Context) (*shoppb.StepResponse, error)) (*shoppb.StepResponse, error) {
	answer := &shoppb.StepResponse{}
	err := batcher.Do(ctx, asks, func(ctx context.Context) (err error) {
		answer, err = alone(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}
