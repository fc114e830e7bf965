// Package orders is the component that takes orders: it keeps them in a Book,
// answers a repeated request with the same order, and hands each new one to a
// Coordinator, which carries it through the other components. It knows none of
// them itself.
package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Coordinator carries orders through the steps of the other components.
type Coordinator interface {
	// Place takes a new order with key, customer and unpriced lines, in state pending.
	// It records the order, takes some or all of its steps, and returns it as it is on
	// record then: final, which includes rejected, or pending. It does not change its
	// argument.
	//
	// It fails with ErrKeyTaken if the key is on record; the order then has left no
	// trace. After any other error the order is on record and will become final, or
	// it has left no trace; repeating the request shows which.
	Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error)
	// Cancel undoes a confirmed order and returns it as it is on record then.
	// Repeating it changes nothing; any other state is a Conflict.
	Cancel(ctx context.Context, id string) (*shoppb.Order, error)
}

// Orders implements shop.Orders.
type Orders struct {
	book        *Book
	coordinator Coordinator
}

var _ shop.Orders = (*Orders)(nil)

// New joins the book with the coordinator that works on it.
func New(book *Book, coordinator Coordinator) *Orders {
	return &Orders{book, coordinator}
}

// CreateOrder implements shop.Orders.
func (o *Orders) CreateOrder(
	ctx context.Context, in *shoppb.CreateOrderRequest,
) (*shoppb.CreateOrderResponse, error) {
	if err := shop.CheckNewOrder(in); err != nil {
		return nil, err
	}
	draft, err := draft(in)
	if err != nil {
		return nil, err
	}
	placed, err := o.coordinator.Place(ctx, draft)
	if errors.Is(err, ErrKeyTaken) {
		return o.replay(ctx, draft)
	}
	if err != nil {
		return nil, err
	}
	return &shoppb.CreateOrderResponse{Order: placed}, nil
}

// draft returns the new order of a request. Its id rises with time.
func draft(in *shoppb.CreateOrderRequest) (*shoppb.Order, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make an id for an order: %w", err)
	}
	order := &shoppb.Order{
		OrderId: id.String(), IdempotencyKey: in.GetIdempotencyKey(), CustomerId: in.GetCustomerId(),
		State: string(shop.StatePending), Version: 1, CreatedUnixUs: time.Now().UnixMicro(),
		Lines: make([]*shoppb.OrderLine, len(in.GetLines())),
	}
	for i, line := range in.GetLines() {
		order.Lines[i] = &shoppb.OrderLine{ProductId: line.GetProductId(), Quantity: line.GetQuantity()}
	}
	return order, nil
}

// replay answers a request whose key is on record.
func (o *Orders) replay(ctx context.Context, asked *shoppb.Order) (*shoppb.CreateOrderResponse, error) {
	known, err := o.book.ByKey(ctx, asked.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	if !sameContent(known, asked) {
		return nil, rpc.Problemf(shop.KeyReused, "the idempotency key %s belongs to an order with other content",
			asked.GetIdempotencyKey())
	}
	return &shoppb.CreateOrderResponse{Order: known, Replayed: true}, nil
}

// sameContent compares the customers and the lines of two orders.
func sameContent(a, b *shoppb.Order) bool {
	if a.GetCustomerId() != b.GetCustomerId() || len(a.GetLines()) != len(b.GetLines()) {
		return false
	}
	for i, line := range a.GetLines() {
		other := b.GetLines()[i]
		if line.GetProductId() != other.GetProductId() || line.GetQuantity() != other.GetQuantity() {
			return false
		}
	}
	return true
}

// CancelOrder implements shop.Orders.
func (o *Orders) CancelOrder(ctx context.Context, in *shoppb.CancelOrderRequest) (*shoppb.Order, error) {
	if err := shop.CheckOrderID(in.GetOrderId()); err != nil {
		return nil, err
	}
	return o.coordinator.Cancel(ctx, in.GetOrderId())
}
