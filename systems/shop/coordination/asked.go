package coordination

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Asked asks the owners of the catalog and of the customers for what orders are about, wherever they are.
type Asked struct {
	Catalog   shop.Catalog
	Customers shop.Customers
}

// Of looks up the customers and products of some orders.
func (a Asked) Of(ctx context.Context, orders []*shoppb.Order) (Known, error) {
	k := About(orders)
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(k.Customers)), shop.MaxPageSize) {
		found, err := a.Customers.GetCustomers(ctx, &shoppb.GetCustomersRequest{CustomerIds: ids})
		if err != nil {
			return k, fmt.Errorf("ask for %d customers: %w", len(ids), err)
		}
		for _, customer := range found.GetCustomers() {
			k.Customers[customer.GetCustomerId()] = customer
		}
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(k.Products)), shop.MaxLines) {
		found, err := a.products(ctx, ids)
		if err != nil {
			return k, fmt.Errorf("ask for %d products: %w", len(ids), err)
		}
		for _, product := range found {
			k.Products[product.GetProductId()] = product
		}
	}
	return k, nil
}

// products asks for all products at once, and one by one if some are unknown: a quote is for all or none.
func (a Asked) products(ctx context.Context, ids []int64) ([]*shoppb.Product, error) {
	quote, err := a.Catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: ids})
	if !shop.IsKind(err, shop.UnknownProduct) {
		return quote.GetProducts(), err
	}
	var found []*shoppb.Product
	for _, id := range ids {
		product, err := a.Catalog.GetProduct(ctx, &shoppb.GetProductRequest{ProductId: id})
		switch {
		case err == nil:
			found = append(found, product)
		case !shop.IsKind(err, shop.UnknownProduct):
			return nil, err
		}
	}
	return found, nil
}
