package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/reference"
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

// The components as the saga calls them, with spans of the calls that carry an order forward.
type (
	followedCatalog struct {
		shop.Catalog
		quote func(context.Context, *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error)
	}
	followedCustomers struct {
		shop.Customers
		get func(context.Context, *shoppb.GetCustomerRequest) (*shoppb.Customer, error)
	}
	followedInventory struct {
		shop.Inventory
		reserve func(context.Context, *shoppb.ReserveRequest) (*shoppb.StepResponse, error)
		commit  func(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error)
	}
	followedPayments struct {
		shop.Payments
		charge func(context.Context, *shoppb.ChargeRequest) (*shoppb.StepResponse, error)
	}
	followedShipping struct {
		shop.Shipping
		ship func(context.Context, *shoppb.ShipRequest) (*shoppb.Shipment, error)
	}
)

// apart returns the components as the saga calls them. Calls within this process make spans where orders are
// traced.
func (h *host) apart() shop.Parts {
	all := h.Parts
	if h.around.Tracer == nil {
		return all
	}
	all.Catalog = followedCatalog{h.Catalog, follow(h, shop.ComponentCatalog, "Catalog/Quote", h.Catalog.Quote)}
	all.Customers = followedCustomers{h.Customers,
		follow(h, shop.ComponentCustomers, "Customers/GetCustomer", h.Customers.GetCustomer)}
	all.Inventory = followedInventory{h.Inventory,
		follow(h, shop.ComponentInventory, "Inventory/Reserve", h.Inventory.Reserve),
		follow(h, shop.ComponentInventory, "Inventory/Commit", h.Inventory.Commit)}
	all.Payments = followedPayments{h.Payments,
		follow(h, shop.ComponentPayments, "Payments/Charge", h.Payments.Charge)}
	all.Shipping = followedShipping{h.Shipping,
		follow(h, shop.ComponentShipping, "Shipping/Ship", h.Shipping.Ship)}
	return all
}

func (f followedCatalog) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return f.quote(ctx, in)
}

func (f followedCustomers) GetCustomer(
	ctx context.Context, in *shoppb.GetCustomerRequest,
) (*shoppb.Customer, error) {
	return f.get(ctx, in)
}

func (f followedInventory) Reserve(
	ctx context.Context, in *shoppb.ReserveRequest,
) (*shoppb.StepResponse, error) {
	return f.reserve(ctx, in)
}

func (f followedInventory) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return f.commit(ctx, in)
}

func (f followedPayments) Charge(
	ctx context.Context, in *shoppb.ChargeRequest,
) (*shoppb.StepResponse, error) {
	return f.charge(ctx, in)
}

func (f followedShipping) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	return f.ship(ctx, in)
}

// The components of which the orders have a replica: what they must know they look up there.
type (
	replicatedCatalog struct {
		shop.Catalog
		replica *reference.Replica
	}
	replicatedCustomers struct {
		shop.Customers
		replica *reference.Replica
	}
)

// knowing returns the components as orders see them that have a replica, where they have one.
func (h *host) knowing(db *database.DB, all shop.Parts) shop.Parts {
	if replica := h.replica(db); replica != nil {
		all.Catalog = replicatedCatalog{all.Catalog, replica}
		all.Customers = replicatedCustomers{all.Customers, replica}
	}
	return all
}

func (r replicatedCatalog) Quote(
	ctx context.Context, in *shoppb.QuoteRequest,
) (*shoppb.QuoteResponse, error) {
	return r.replica.Quote(ctx, in)
}

func (r replicatedCustomers) GetCustomer(
	ctx context.Context, in *shoppb.GetCustomerRequest,
) (*shoppb.Customer, error) {
	return r.replica.GetCustomer(ctx, in)
}
