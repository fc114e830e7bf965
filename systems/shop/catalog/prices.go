package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// OnReprice sets the function that is called with every change of a price, in the transaction
// that makes it. It is set before the first change.
func (c *Catalog) OnReprice(call func(context.Context, *shoppb.ProductRepriced) error) {
	c.onReprice = call
}

// Reprice implements shop.Catalog.
func (c *Catalog) Reprice(ctx context.Context, in *shoppb.RepriceRequest) (*shoppb.Price, error) {
	if cents := in.GetPriceCents(); cents < 1 || cents > shop.MaxPrice {
		return nil, rpc.Problemf(rpc.InvalidArgument, "a price of %d cents, use 1 to %d", cents, shop.MaxPrice)
	}
	var price *shoppb.Price
	err := c.db.Do(ctx, func(ctx context.Context) (err error) {
		price, err = c.reprice(ctx, in)
		return err
	})
	return price, err
}

// reprice writes before it reads: a row that has changed is locked, so that changes of one
// product are published in the order of their versions. The clock is read first, so that
// no order with the new price is older than the price.
func (c *Catalog) reprice(ctx context.Context, in *shoppb.RepriceRequest) (*shoppb.Price, error) {
	id := in.GetProductId()
	cents := in.GetPriceCents()
	now := time.Now().UnixMicro()
	changed, err := c.tables.Reprice(ctx, id, cents)
	if err != nil {
		return nil, fmt.Errorf("reprice product %d: %w", id, err)
	}
	product, err := c.product(ctx, id)
	price := &shoppb.Price{ProductId: id, PriceCents: product.PriceCents, Version: product.Version}
	switch {
	case err != nil:
		return nil, fmt.Errorf("reprice product %d: %w", id, err)
	case changed == 0 && product.PriceCents != cents:
		return nil, c.db.Contended("the price has changed since it was compared")
	case changed == 0:
		return price, nil
	}
	if err := c.tables.Note(ctx, Price{id, product.Version, product.PriceCents, now}); err != nil {
		return nil, fmt.Errorf("note the price of product %d: %w", id, err)
	}
	if c.onReprice != nil {
		err = c.onReprice(ctx, &shoppb.ProductRepriced{Price: price})
	}
	return price, err
}
