package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Calls between components of one process are followed here, by stand-ins that make a span of each: it tells
// what of a unit's time belongs to which component. Orders that are not traced pay for a look at their
// context.

// followed makes a span of a call of a component.
func followed[Q, A any](
	ctx context.Context, component, call string, in Q, do func(context.Context, Q) (A, error),
) (A, error) {
	ctx, part := spans.Begin(ctx, call, lab.SegmentBusiness)
	defer part.End()
	part.Note(lab.ComponentAttribute, component)
	return do(ctx, in)
}

type followedOrders struct{ shop.Orders }

func (f followedOrders) CreateOrder(
	ctx context.Context, in *shoppb.CreateOrderRequest,
) (*shoppb.CreateOrderResponse, error) {
	return followed(ctx, shop.ComponentOrders, "Orders/CreateOrder", in, f.Orders.CreateOrder)
}

func (f followedOrders) CancelOrder(
	ctx context.Context, in *shoppb.CancelOrderRequest,
) (*shoppb.Order, error) {
	return followed(ctx, shop.ComponentOrders, "Orders/CancelOrder", in, f.Orders.CancelOrder)
}

type followedCustomers struct{ shop.Customers }

func (f followedCustomers) GetCustomers(
	ctx context.Context, in *shoppb.GetCustomersRequest,
) (*shoppb.GetCustomersResponse, error) {
	return followed(ctx, shop.ComponentCustomers, "Customers/GetCustomers", in, f.Customers.GetCustomers)
}

type followedCatalog struct{ shop.Catalog }

func (f followedCatalog) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return followed(ctx, shop.ComponentCatalog, "Catalog/Quote", in, f.Catalog.Quote)
}

type followedInventory struct{ coordination.Inventory }

func (f followedInventory) ReserveAll(
	ctx context.Context, all []*shoppb.ReserveRequest,
) ([]steps.Outcome, error) {
	return followed(ctx, shop.ComponentInventory, "Inventory/Reserve", all, f.Inventory.ReserveAll)
}

func (f followedInventory) CommitAll(
	ctx context.Context, all []*shoppb.StepRequest,
) ([]steps.Outcome, error) {
	return followed(ctx, shop.ComponentInventory, "Inventory/Commit", all, f.Inventory.CommitAll)
}

type followedPayments struct{ coordination.Payments }

func (f followedPayments) ChargeAll(
	ctx context.Context, all []*shoppb.ChargeRequest,
) ([]steps.Outcome, error) {
	return followed(ctx, shop.ComponentPayments, "Payments/Charge", all, f.Payments.ChargeAll)
}

type followedShipping struct{ coordination.Shipping }

func (f followedShipping) ShipAll(ctx context.Context, all []*shoppb.ShipRequest) ([]steps.Outcome, error) {
	return followed(ctx, shop.ComponentShipping, "Shipping/Ship", all, f.Shipping.ShipAll)
}

// together returns what an order is carried through in one transaction, in this process.
func (h *host) together() local.Components {
	all := local.Components{
		Catalog: h.Catalog, Customers: h.Customers, Inventory: h.stock, Payments: h.accounts, Shipping: h.parcels,
	}
	if h.around.Tracer == nil {
		return all
	}
	if h.Hosts(shop.ComponentCatalog) {
		all.Catalog = followedCatalog{all.Catalog}
	}
	if h.Hosts(shop.ComponentCustomers) {
		all.Customers = followedCustomers{all.Customers}
	}
	all.Inventory, all.Payments = followedInventory{all.Inventory}, followedPayments{all.Payments}
	all.Shipping = followedShipping{all.Shipping}
	return all
}
