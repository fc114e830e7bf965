package api

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// askedAtOnce limits the concurrent calls for one page.
const askedAtOnce = 8

// orderPage composes a page of what several components answer: the order first, which
// names its products, then everything else at once.
func (a api) orderPage(ctx context.Context, id string) (OrderPage, error) {
	order, err := a.OrderViews.GetOrder(ctx, &shoppb.GetOrderRequest{OrderId: id})
	if err != nil {
		return OrderPage{}, err
	}
	page := OrderPage{Order: orderBody(order)}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(askedAtOnce)
	all.Go(func() error {
		shipment, err := a.Shipping.GetShipment(ctx, &shoppb.GetShipmentRequest{OrderId: id})
		if err == nil {
			body := shipmentBody(shipment)
			page.Shipment = &body
		}
		return ignoreKind(shop.NotFound, err)
	})
	lines := order.GetLines()
	products := make([]*shoppb.Product, len(lines))
	stocks := make([]*shoppb.Stock, len(lines))
	for i, line := range lines {
		product := line.GetProductId()
		all.Go(func() (err error) {
			products[i], err = a.Catalog.GetProduct(ctx, &shoppb.GetProductRequest{ProductId: product})
			return ignoreKind(shop.UnknownProduct, err)
		})
		all.Go(func() (err error) {
			stocks[i], err = a.StockViews.GetStock(ctx, &shoppb.GetStockRequest{ProductId: product})
			return ignoreKind(shop.UnknownProduct, err)
		})
	}
	if err := all.Wait(); err != nil {
		return OrderPage{}, err
	}
	page.Products = make([]OrderPageLine, 0, len(products))
	for i, product := range products {
		if product != nil {
			page.Products = append(page.Products, OrderPageLine{productBody(product), stocks[i].GetOnHand()})
		}
	}
	return page, nil
}

// ignoreKind returns nil for a problem of a kind, and any other error as it is.
func ignoreKind(kind rpc.Kind, err error) error {
	if shop.IsKind(err, kind) {
		return nil
	}
	return err
}
