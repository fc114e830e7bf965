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

// follow returns a call of a component of this unit that tells of itself as hosting.Join has components do.
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

// together returns what an order is carried through in one transaction, in this process.
func (h *host) together() local.Components {
	return local.Components{
		Known:   coordination.Asked{Catalog: h.Catalog, Customers: h.Customers}.Of,
		Reserve: follow(h, shop.ComponentInventory, shoppb.Inventory_Reserve_FullMethodName, h.stock.ReserveAll),
		Charge:  follow(h, shop.ComponentPayments, shoppb.Payments_Charge_FullMethodName, h.accounts.ChargeAll),
		Commit:  follow(h, shop.ComponentInventory, shoppb.Inventory_Commit_FullMethodName, h.stock.CommitAll),
		Ship:    follow(h, shop.ComponentShipping, shoppb.Shipping_Ship_FullMethodName, h.parcels.ShipAll),
		Recall:  h.parcels.Recall, Restock: h.stock.Restock, Refund: h.accounts.Refund,
	}
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
func (h *host) knowing(db *database.DB) shop.Parts {
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

// GetProduct implements shop.Catalog: the unit that clients ask answers reads from the copy, too.
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
