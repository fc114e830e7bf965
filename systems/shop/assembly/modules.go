package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// follow returns a call of a component that makes a span of itself where this unit hosts the component and
// orders are traced: it tells what of a unit's time belongs to which component. Orders that are not traced
// pay for a look at their context.
func follow[Q, A any](
	h *host, component, call string, do func(context.Context, Q) (A, error),
) func(context.Context, Q) (A, error) {
	if h.around.Tracer == nil || !h.Hosts(component) {
		return do
	}
	return func(ctx context.Context, in Q) (A, error) {
		ctx, part := spans.Begin(ctx, call, lab.SegmentBusiness)
		defer part.End()
		part.Note(lab.ComponentAttribute, component)
		return do(ctx, in)
	}
}

// followedOrders makes spans of the calls of the orders.
type followedOrders struct {
	create func(context.Context, *shoppb.CreateOrderRequest) (*shoppb.CreateOrderResponse, error)
	cancel func(context.Context, *shoppb.CancelOrderRequest) (*shoppb.Order, error)
}

// follow returns the orders with spans of their calls, where some are traced.
func (h *host) follow(o shop.Orders) shop.Orders {
	if h.around.Tracer == nil {
		return o
	}
	return followedOrders{follow(h, shop.ComponentOrders, "Orders/CreateOrder", o.CreateOrder),
		follow(h, shop.ComponentOrders, "Orders/CancelOrder", o.CancelOrder)}
}

func (f followedOrders) CreateOrder(
	ctx context.Context, in *shoppb.CreateOrderRequest,
) (*shoppb.CreateOrderResponse, error) {
	return f.create(ctx, in)
}

func (f followedOrders) CancelOrder(
	ctx context.Context, in *shoppb.CancelOrderRequest,
) (*shoppb.Order, error) {
	return f.cancel(ctx, in)
}

// together returns what an order is carried through in one transaction, in this process.
func (h *host) together() local.Components {
	return local.Components{
		Quote:        follow(h, shop.ComponentCatalog, "Catalog/Quote", h.Catalog.Quote),
		GetCustomers: follow(h, shop.ComponentCustomers, "Customers/GetCustomers", h.Customers.GetCustomers),
		Reserve:      follow(h, shop.ComponentInventory, "Inventory/Reserve", h.stock.ReserveAll),
		Charge:       follow(h, shop.ComponentPayments, "Payments/Charge", h.accounts.ChargeAll),
		Commit:       follow(h, shop.ComponentInventory, "Inventory/Commit", h.stock.CommitAll),
		Ship:         follow(h, shop.ComponentShipping, "Shipping/Ship", h.parcels.ShipAll),
		Recall:       h.parcels.Recall, Restock: h.stock.Restock, Refund: h.accounts.Refund,
	}
}
