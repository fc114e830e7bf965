package choreographed

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// replica is what the orders know of catalog and customers. The shop's catalog and
// customers do not change, so nothing keeps it up to date: the seed fills it.
type replica struct {
	db        *database.DB
	products  []string // by number of products
	customers []string // by number of customers
}

func newReplica(db *database.DB) replica {
	by := func(begin string) []string {
		return database.Texts(steps.Most, func(n int) string { return begin + " IN (" + database.Placeholders(n) + ")" })
	}
	return replica{
		db:        db,
		products:  by("SELECT product_id, name, price_cents FROM known_products WHERE product_id"),
		customers: by("SELECT customer_id, name, address FROM known_customers WHERE customer_id"),
	}
}

// known is what some orders are about.
type known struct {
	customers map[int64]*shoppb.Customer
	products  map[int64]*shoppb.Product
}

// of looks up what some orders are about.
func (r replica) of(ctx context.Context, all []*placing) (known, error) {
	k := known{customers: map[int64]*shoppb.Customer{}, products: map[int64]*shoppb.Product{}}
	for _, p := range all {
		k.customers[p.order.GetCustomerId()] = nil
		for _, line := range p.order.GetLines() {
			k.products[line.GetProductId()] = nil
		}
	}
	err := database.EachOf(ctx, r.db, func(row database.Row) error {
		customer := &shoppb.Customer{}
		err := row.Scan(&customer.CustomerId, &customer.Name, &customer.Address)
		k.customers[customer.GetCustomerId()] = customer
		return err
	}, r.customers, slices.Sorted(maps.Keys(k.customers)))
	if err != nil {
		return k, fmt.Errorf("look up %d customers: %w", len(k.customers), err)
	}
	err = database.EachOf(ctx, r.db, func(row database.Row) error {
		product := &shoppb.Product{}
		err := row.Scan(&product.ProductId, &product.Name, &product.PriceCents)
		k.products[product.GetProductId()] = product
		return err
	}, r.products, slices.Sorted(maps.Keys(k.products)))
	if err != nil {
		return k, fmt.Errorf("look up %d products: %w", len(k.products), err)
	}
	return k, nil
}

// price is an order as it is taken, with what is told of it: it is rejected where
// there is no such customer or product.
func (k known) price(order *shoppb.Order) (*shoppb.Order, events.Event) {
	customer, products, err := k.parts(order)
	if why, refused := shop.Rejects(err); refused {
		rejected := coordination.Rejected(order, why)
		return rejected, &shoppb.OrderRejected{Order: rejected}
	}
	placed := coordination.Priced(order, products)
	return placed, &shoppb.OrderPlaced{Order: placed, Recipient: customer.GetName(), Address: customer.GetAddress()}
}

// parts are the customer and the products, in the order of the lines; or it is
// UnknownCustomer or UnknownProduct.
func (k known) parts(order *shoppb.Order) (*shoppb.Customer, []*shoppb.Product, error) {
	customer := k.customers[order.GetCustomerId()]
	if customer == nil {
		return nil, nil, shop.Problemf(shop.UnknownCustomer, "there is no customer %d", order.GetCustomerId())
	}
	products := make([]*shoppb.Product, len(order.GetLines()))
	for i, id := range coordination.ProductIDs(order) {
		if products[i] = k.products[id]; products[i] == nil {
			return nil, nil, shop.Problemf(shop.UnknownProduct, "there is no product %d", id)
		}
	}
	return customer, products, nil
}
