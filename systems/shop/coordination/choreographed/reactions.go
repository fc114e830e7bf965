package choreographed

import (
	"context"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// handler takes the messages of one transaction.
type handler = func(ctx context.Context, messages []broker.Message) error

// reacting joins reactions with the sender of their events. also, if any, sees
// what came after the reactions to it, and tells of it too.
func reacting(
	db *database.DB, sender Sender, also func(ctx context.Context, came []events.Event) ([]events.Event, error),
	all ...reaction,
) handler {
	r := &reactions{db: db, all: all}
	return func(ctx context.Context, messages []broker.Message) error {
		came, err := decode(messages)
		if err != nil {
			return err
		}
		told, err := r.to(ctx, came)
		if err != nil {
			return err
		}
		if also != nil {
			more, err := also(ctx, came)
			if err != nil {
				return err
			}
			told = append(told, more...)
		}
		return tell(ctx, sender, told...)
	}
}

// Stock is the inventory, and what there is in it.
type Stock interface {
	coordination.Inventory
	Levels(ctx context.Context, products []int64) ([]inventory.Level, error)
}

// Inventory makes the reactions of the inventory, on its database. With views it
// also tells what there is of each product that a transaction has changed, once.
func Inventory(db *database.DB, component Stock, sender Sender, views bool) handler {
	var also func(ctx context.Context, came []events.Event) ([]events.Event, error)
	if views {
		also = func(ctx context.Context, came []events.Event) ([]events.Event, error) {
			return levels(ctx, component, came)
		}
	}
	return reacting(db, sender, also,
		step[*shoppb.OrderPlaced, *shoppb.ReserveRequest]{
			take: component.ReserveAll,
			asks: func(e *shoppb.OrderPlaced) *shoppb.ReserveRequest { return coordination.Reservation(e.GetOrder()) },
			done: func(e *shoppb.OrderPlaced) events.Event {
				return &shoppb.StockReserved{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
			},
			refused: func(e *shoppb.OrderPlaced, why *shoppb.Rejection) events.Event {
				return &shoppb.StockRefused{Order: e.GetOrder(), Rejection: why}
			},
			forbid: component.ReleaseAll, // whatever comes back to the shelf
		}.reaction(),
		step[*shoppb.OrderConfirmed, *shoppb.StepRequest]{
			take: component.CommitAll,
			asks: func(e *shoppb.OrderConfirmed) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) },
		}.reaction(),
		single(func(ctx context.Context, s scope, e *shoppb.PaymentDeclined) (events.Event, error) {
			_, err := s.take(ctx, e.GetOrder(), component.Release)
			return nil, err
		}),
		// It undoes the sale, also where it is told before the confirmation; where it is
		// told before the order, it forbids it.
		single(func(ctx context.Context, s scope, e *shoppb.OrderCancelled) (events.Event, error) {
			taken, err := s.take(ctx, e.GetOrder(), component.Commit, component.Restock)
			if err == nil && !taken {
				_, err = s.take(ctx, e.GetOrder(), component.Release)
			}
			return nil, err
		}),
	)
}

// levels tells what there is of the products of the orders that events are about.
func levels(ctx context.Context, component Stock, came []events.Event) (told []events.Event, err error) {
	products := map[int64]bool{}
	for _, e := range came {
		if about, ok := e.(events.OfOrder); ok {
			for _, line := range about.GetOrder().GetLines() {
				products[line.GetProductId()] = true
			}
		}
	}
	found, err := component.Levels(ctx, slices.Sorted(maps.Keys(products)))
	for _, level := range found {
		told = append(told, &shoppb.StockChanged{Stock: level.Stock, Version: level.Version})
	}
	return told, err
}

// Payments makes the reactions of the payments, on their database.
func Payments(db *database.DB, component coordination.Payments, sender Sender) handler {
	return reacting(db, sender, nil,
		step[*shoppb.StockReserved, *shoppb.ChargeRequest]{
			take: component.ChargeAll,
			asks: func(e *shoppb.StockReserved) *shoppb.ChargeRequest { return coordination.Charge(e.GetOrder()) },
			done: func(e *shoppb.StockReserved) events.Event {
				return &shoppb.PaymentCaptured{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
			},
			refused: func(e *shoppb.StockReserved, why *shoppb.Rejection) events.Event {
				return &shoppb.PaymentDeclined{Order: e.GetOrder(), Rejection: why}
			},
			forbid: component.VoidAll, // whatever comes onto the account
		}.reaction(),
		// It undoes the payment; where it is told before the payment, it forbids it.
		single(func(ctx context.Context, s scope, e *shoppb.OrderCancelled) (events.Event, error) {
			taken, err := s.take(ctx, e.GetOrder(), component.Refund)
			if err == nil && !taken {
				_, err = s.take(ctx, e.GetOrder(), component.Void)
			}
			return nil, err
		}),
	)
}

// Shipping makes the reactions of the shipping, on its database.
func Shipping(db *database.DB, component coordination.Shipping, sender Sender) handler {
	return reacting(db, sender, nil,
		step[*shoppb.PaymentCaptured, *shoppb.ShipRequest]{
			take: component.ShipAll,
			asks: func(e *shoppb.PaymentCaptured) *shoppb.ShipRequest {
				return &shoppb.ShipRequest{OrderId: e.GetOrder().GetOrderId(), Recipient: e.GetRecipient(),
					Address: e.GetAddress()}
			},
			done: func(e *shoppb.PaymentCaptured) events.Event { return &shoppb.OrderShipped{Order: e.GetOrder()} },
		}.reaction(),
		single(func(ctx context.Context, s scope, e *shoppb.OrderCancelled) (events.Event, error) {
			_, err := s.take(ctx, e.GetOrder(), component.Recall)
			return nil, err
		}),
	)
}

// Orders makes the reactions of the orders, on their database: they bring pending orders
// to their end. The states between are passed in that moment. keep takes in what the
// catalog tells, where anybody is told.
func Orders(
	db *database.DB, book *orders.Book, sender Sender,
	keep func(ctx context.Context, changes []*shoppb.ProductRepriced) error,
) handler {
	reject := func(ctx context.Context, s scope, order *shoppb.Order, why *shoppb.Rejection) (events.Event,
		error) {
		taken, err := s.take(ctx, order, func(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse,
			error) {
			_, err := book.Advance(ctx, in.GetOrderId(), shop.StatePending, shop.StateRejected, why)
			return nil, err
		})
		if err != nil || !taken {
			return nil, err
		}
		return &shoppb.OrderRejected{Order: advanced(order, shop.StateRejected, why)}, nil
	}
	return reacting(db, sender, nil,
		step[*shoppb.OrderShipped, *shoppb.StepRequest]{
			take: book.ConfirmAll,
			asks: func(e *shoppb.OrderShipped) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) },
			done: func(e *shoppb.OrderShipped) events.Event {
				return &shoppb.OrderConfirmed{Order: advanced(e.GetOrder(), shop.StateConfirmed, nil)}
			},
		}.reaction(),
		single(func(ctx context.Context, s scope, e *shoppb.StockRefused) (events.Event, error) {
			return reject(ctx, s, e.GetOrder(), e.GetRejection())
		}),
		single(func(ctx context.Context, s scope, e *shoppb.PaymentDeclined) (events.Event, error) {
			return reject(ctx, s, e.GetOrder(), e.GetRejection())
		}),
		about(func(ctx context.Context, _ scope, changes []*shoppb.ProductRepriced) ([]events.Event, error) {
			return nil, keep(ctx, changes)
		}),
	)
}
