package choreographed

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// replica is what the orders know of catalog and customers. The shop's catalog and
// customers do not change, so nothing keeps it up to date: the seed fills it.
type replica struct {
	db   *database.DB
	find []string // by number of products
}

func newReplica(db *database.DB) replica {
	return replica{db: db, find: database.Texts(shop.MaxLines, func(n int) string {
		return "SELECT product_id, name, price_cents FROM known_products WHERE product_id IN (" + database.Placeholders(n) + ")"
	})}
}

// customer returns name and address, or UnknownCustomer.
func (r replica) customer(ctx context.Context, id int64) (*shoppb.Customer, error) {
	customer := &shoppb.Customer{CustomerId: id}
	found, err := r.db.One(ctx, []any{&customer.Name, &customer.Address}, "SELECT name, address FROM known_customers WHERE customer_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("look up customer %d: %w", id, err)
	}
	if !found {
		return nil, shop.Problemf(shop.UnknownCustomer, "there is no customer %d", id)
	}
	return customer, nil
}

// products returns the products in the order of the ids, or UnknownProduct.
func (r replica) products(ctx context.Context, ids []int64) ([]*shoppb.Product, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	found := make(map[int64]*shoppb.Product, len(ids))
	err := r.db.Each(ctx, func(row database.Row) error {
		product := &shoppb.Product{}
		err := row.Scan(&product.ProductId, &product.Name, &product.PriceCents)
		found[product.ProductId] = product
		return err
	}, r.find[len(ids)], args...)
	if err != nil {
		return nil, fmt.Errorf("look up %d products: %w", len(ids), err)
	}
	products := make([]*shoppb.Product, len(ids))
	for i, id := range ids {
		if products[i] = found[id]; products[i] == nil {
			return nil, shop.Problemf(shop.UnknownProduct, "there is no product %d", id)
		}
	}
	return products, nil
}
