package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// follow adds spans to a call of a component in this unit, like those of components that hosting.Join makes.
func follow[Q, A any](
	h *host, component, method string, do func(context.Context, Q) (A, error),
) func(context.Context, Q) (A, error) {
	if !h.Traced() {
		return do
	}
	begin := hosting.Called(component)
	return func(ctx context.Context, in Q) (A, error) {
		ctx, end := begin(ctx, method)
		defer end()
		return do(ctx, in)
	}
}

// together returns the steps of an order that is one transaction in this process.
func (h *host) together() local.Components {
	return local.Components{
		Reference: h.reference(h.around.Database(shop.ComponentOrders)),
		Reserve:   follow(h, shop.ComponentInventory, shoppb.Inventory_Reserve_FullMethodName, h.stock.ReserveAll),
		Charge:    follow(h, shop.ComponentPayments, shoppb.Payments_Charge_FullMethodName, h.accounts.ChargeAll),
		Commit:    follow(h, shop.ComponentInventory, shoppb.Inventory_Commit_FullMethodName, h.stock.CommitAll),
		Ship:      follow(h, shop.ComponentShipping, shoppb.Shipping_Ship_FullMethodName, h.parcels.ShipAll),
		Recall:    h.Shipping.Recall, Restock: h.Inventory.Restock, Refund: h.Payments.Refund,
	}
}

// reference returns what the orders look their customers and products up in: their replica, if the design has
// one, or the owners.
func (h *host) reference(db *database.DB) coordination.Reference {
	if replica := h.replica(db); replica != nil {
		return replica
	}
	return coordination.Asked{Catalog: h.Catalog, Customers: h.Customers}
}
