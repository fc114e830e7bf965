package batching

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// NewInventory batches the forward steps of an inventory on its database.
func NewInventory(db *database.DB, component coordination.Inventory) shop.Inventory {
	return &stock{component, New(db, component.ReserveAll), New(db, component.CommitAll)}
}

type stock struct {
	shop.Inventory
	reserve *Batcher[*shoppb.ReserveRequest]
	commit  *Batcher[*shoppb.StepRequest]
}

// Reserve implements shop.Inventory.
func (s *stock) Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	return s.reserve.Do(ctx, in)
}

// Commit implements shop.Inventory.
func (s *stock) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return s.commit.Do(ctx, in)
}

// NewPayments batches the forward steps of payments on their database.
func NewPayments(db *database.DB, component coordination.Payments) shop.Payments {
	return &accounts{component, New(db, component.ChargeAll)}
}

type accounts struct {
	shop.Payments
	charge *Batcher[*shoppb.ChargeRequest]
}

// Charge implements shop.Payments.
func (a *accounts) Charge(ctx context.Context, in *shoppb.ChargeRequest) (*shoppb.StepResponse, error) {
	return a.charge.Do(ctx, in)
}

// NewShipping batches the forward steps of a shipping on its database.
func NewShipping(db *database.DB, component coordination.Shipping) shop.Shipping {
	return &shipments{component, New(db, component.ShipAll)}
}

type shipments struct {
	shop.Shipping
	ship *Batcher[*shoppb.ShipRequest]
}

// Ship implements shop.Shipping.
func (s *shipments) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	if _, err := s.ship.Do(ctx, in); err != nil {
		return nil, err
	}
	return shipping.Shipped(in), nil
}
