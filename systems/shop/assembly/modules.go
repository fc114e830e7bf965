package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/reference"
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
		Known:   coordination.Asked{Catalog: h.Catalog, Customers: h.Customers}.Of,
		Reserve: follow(h, shop.ComponentInventory, shoppb.Inventory_Reserve_FullMethodName, h.stock.ReserveAll),
		Charge:  follow(h, shop.ComponentPayments, shoppb.Payments_Charge_FullMethodName, h.accounts.ChargeAll),
		Commit:  follow(h, shop.ComponentInventory, shoppb.Inventory_Commit_FullMethodName, h.stock.CommitAll),
		Ship:    follow(h, shop.ComponentShipping, shoppb.Shipping_Ship_FullMethodName, h.parcels.ShipAll),
		Recall:  h.Shipping.Recall, Restock: h.Inventory.Restock, Refund: h.Payments.Refund,
	}
}

// Catalog and customers for the orders of a design with a replica: they answer from the replica.
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

// partsOfOrders returns the components as the orders see them: with the replica, if the design has one.
func (h *host) partsOfOrders(db *database.DB) shop.Parts {
	all := h.Parts
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

// GetProduct implements shop.Catalog: clients, too, get the price of the replica.
func (r replicatedCatalog) GetProduct(
	ctx context.Context, in *shoppb.GetProductRequest,
) (*shoppb.Product, error) {
	quote, err := r.Quote(ctx, &shoppb.QuoteRequest{ProductIds: []int64{in.GetProductId()}})
	if err != nil {
		return nil, err
	}
	return quote.GetProducts()[0], nil
}

func (r replicatedCustomers) GetCustomer(
	ctx context.Context, in *shoppb.GetCustomerRequest,
) (*shoppb.Customer, error) {
	return r.replica.GetCustomer(ctx, in)
}
