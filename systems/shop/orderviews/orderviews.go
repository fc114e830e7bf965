// Package orderviews is the read side of orders. FromBook answers from the tables
// of the write side: it never lags behind, and it must be on their database.
// FromDocuments answers from documents of its own that events keep up to date.
package orderviews

import (
	"context"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Direct implements shop.OrderViews on the book of orders.
type Direct struct{ book *orders.Book }

var _ shop.OrderViews = Direct{}

// FromBook makes views of the book itself.
func FromBook(book *orders.Book) Direct { return Direct{book} }

// GetOrder implements shop.OrderViews.
func (v Direct) GetOrder(ctx context.Context, in *shoppb.GetOrderRequest) (*shoppb.Order, error) {
	if err := shop.CheckOrderID(in.GetOrderId()); err != nil {
		return nil, err
	}
	return v.book.Get(ctx, in.GetOrderId())
}

// ListOrders implements shop.OrderViews. The cursor is the id of the last order.
func (v Direct) ListOrders(ctx context.Context, in *shoppb.ListOrdersRequest) (*shoppb.OrderPage, error) {
	size, err := checkList(in)
	if err != nil {
		return nil, err
	}
	found, err := v.book.OfCustomer(ctx, in.GetCustomerId(), in.GetCursor(), size+1)
	if err != nil {
		return nil, err
	}
	return page(found, size), nil
}

// page returns a page of the first orders found, and where the next page begins if more are found.
func page(found []*shoppb.Order, size int) *shoppb.OrderPage {
	if len(found) <= size {
		return &shoppb.OrderPage{Orders: found}
	}
	return &shoppb.OrderPage{Orders: found[:size], NextCursor: found[size-1].GetOrderId()}
}

// checkList returns the size of the page that a request asks for.
func checkList(in *shoppb.ListOrdersRequest) (int, error) {
	size, err := shop.PageSize(in.GetPageSize())
	if err != nil {
		return 0, err
	}
	if in.GetCursor() != "" && shop.CheckOrderID(in.GetCursor()) != nil {
		return 0, rpc.Problemf(rpc.InvalidArgument, "the cursor is not one that this list has returned")
	}
	return size, nil
}
