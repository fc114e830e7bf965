package reacting

import (
	"context"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Confirmed returns the event of a pending order that was just confirmed.
func Confirmed(order *shoppb.Order) *shoppb.OrderConfirmed {
	return &shoppb.OrderConfirmed{Order: coordination.Advanced(order, shop.StateConfirmed, nil)}
}

// Refusal is a message that says why its order is to be rejected.
type Refusal interface {
	events.OfOrder
	GetRejection() *shoppb.Rejection
}

// Reject rejects a pending order and returns its event; nil if the order is in another state.
func (s Scope) Reject(
	ctx context.Context, book *orders.Book, order *shoppb.Order, why *shoppb.Rejection,
) (events.Event, error) {
	reject := func(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
		_, err := book.Advance(ctx, in.GetOrderId(), shop.StatePending, shop.StateRejected, why)
		return nil, err
	}
	taken, err := s.Take(ctx, order, reject)
	if err != nil || !taken {
		return nil, err
	}
	return &shoppb.OrderRejected{Order: coordination.Advanced(order, shop.StateRejected, why)}, nil
}

// Keep returns the reaction of the orders to changes of prices, which passes them to keep.
func Keep(keep func(ctx context.Context, changes []*shoppb.ProductRepriced) error) Reaction {
	return About(func(ctx context.Context, _ Scope, changes []*shoppb.ProductRepriced) ([]events.Event, error) {
		return nil, keep(ctx, changes)
	})
}
