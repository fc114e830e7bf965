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
	return replica{
		db: db,
		products: database.TextsIn(steps.Most,
			"SELECT product_id, name, price_cents FROM known_products WHERE product_id IN", ""),
		customers: database.TextsIn(steps.Most,
			"SELECT customer_id, name, address FROM known_customers WHERE customer_id IN", ""),
	}
}

// of looks up what some orders are about.
func (r replica) of(ctx context.Context, orders []*shoppb.Order) (coordination.Known, error) {
	k := coordination.About(orders)
	err := database.EachOf(ctx, r.db, func(row database.Row) error {
		customer := &shoppb.Customer{}
		err := row.Scan(&customer.CustomerId, &customer.Name, &customer.Address)
		k.Customers[customer.GetCustomerId()] = customer
		return err
	}, r.customers, slices.Sorted(maps.Keys(k.Customers)))
	if err != nil {
		return k, fmt.Errorf("look up %d customers: %w", len(k.Customers), err)
	}
	err = database.EachOf(ctx, r.db, func(row database.Row) error {
		product := &shoppb.Product{}
		err := row.Scan(&product.ProductId, &product.Name, &product.PriceCents)
		k.Products[product.GetProductId()] = product
		return err
	}, r.products, slices.Sorted(maps.Keys(k.Products)))
	if err != nil {
		return k, fmt.Errorf("look up %d products: %w", len(k.Products), err)
	}
	return k, nil
}

// price returns an order as it is taken, with what is told of it: it is rejected where
// there is no such customer or product.
func price(k coordination.Known, order *shoppb.Order) (*shoppb.Order, events.Event) {
	placed, customer, err := k.Price(order)
	if why, refused := shop.Rejects(err); refused {
		rejected := coordination.Rejected(order, why)
		return rejected, &shoppb.OrderRejected{Order: rejected}
	}
	return placed, &shoppb.OrderPlaced{Order: placed, Recipient: customer.GetName(),
		Address: customer.GetAddress()}
}
