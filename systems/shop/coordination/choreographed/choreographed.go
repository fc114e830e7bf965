// Package choreographed carries an order through components that have databases of
// their own in a saga without a coordinator: each component reacts to the events of
// the others and publishes its own.
//
//	orders     takes an order                        -> OrderPlaced
//	inventory  OrderPlaced: reserves                 -> StockReserved or StockRefused
//	payments   StockReserved: captures               -> PaymentCaptured or PaymentDeclined
//	shipping   PaymentCaptured: ships                -> OrderShipped
//	orders     OrderShipped: confirms                -> OrderConfirmed
//	           StockRefused, PaymentDeclined: rejects -> OrderRejected
//	           a customer cancels                    -> OrderCancelled
//	inventory  PaymentDeclined: releases; OrderConfirmed: commits; OrderCancelled: restocks
//	payments   OrderCancelled: refunds
//	shipping   OrderCancelled: recalls
//
// Package reacting says what a reaction is.
//
// No component calls another: the orders look up customer and products before they take
// an order, and an event carries what the next component needs.
//
// Entry points: New for the coordinator; Inventory, Payments, Shipping and Orders
// for the reactions.
package choreographed

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// New returns the coordinator; see reacting.NewCoordinator.
func New(
	db *database.DB, book *orders.Book, sender reacting.Sender, reference coordination.Reference, batch bool,
) *reacting.Coordinator {
	return reacting.NewCoordinator(db, book, sender, reference, batch, reacting.Saga{
		Begin: func(_ context.Context, all []*coordination.Placing) ([]events.Event, error) {
			published := make([]events.Event, len(all))
			for i, p := range all {
				published[i] = reacting.Placed(p)
			}
			return published, nil
		},
		Undo: func(_ context.Context, cancelled *shoppb.Order) ([]events.Event, error) {
			return []events.Event{&shoppb.OrderCancelled{Order: cancelled}}, nil
		},
	})
}

// Inventory makes the reactions of the inventory, on its database. With views it
// also publishes the stock of each product that a transaction has changed, once.
func Inventory(
	db *database.DB, component reacting.Stock, sender reacting.Sender, views bool,
) reacting.Handler {
	return reacting.Handle(db, sender, reacting.Levels(component, views),
		reacting.Reserve[*shoppb.OrderPlaced](component),
		reacting.Step[*shoppb.OrderConfirmed, *shoppb.StepRequest]{
			Take: component.CommitAll,
			Asks: func(e *shoppb.OrderConfirmed) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) },
		}.Reaction(),
		reacting.Single(func(
			ctx context.Context, s reacting.Scope, e *shoppb.PaymentDeclined,
		) (events.Event, error) {
			_, err := s.Take(ctx, e.GetOrder(), component.Release)
			return nil, err
		}),
		// The steps undo the sale even if the cancellation comes before the confirmation.
		cancellation(component.Release, component.Commit, component.Restock),
	)
}

// Payments makes the reactions of the payments, on their database.
func Payments(db *database.DB, component coordination.Payments, sender reacting.Sender) reacting.Handler {
	return reacting.Handle(db, sender, nil,
		reacting.Capture[*shoppb.StockReserved](component),
		cancellation(component.Void, component.Refund),
	)
}

// Shipping makes the reactions of the shipping, on its database.
func Shipping(db *database.DB, component coordination.Shipping, sender reacting.Sender) reacting.Handler {
	return reacting.Handle(db, sender, nil,
		reacting.Ship[*shoppb.PaymentCaptured](component),
		cancellation(nil, component.Recall),
	)
}

// cancellation makes the reaction to a cancelled order: it undoes the component's steps. If the event comes
// before these steps, forbid keeps them from being taken later; nil: undo does that itself.
func cancellation(
	forbid steps.Ask[*shoppb.StepRequest], undo ...steps.Ask[*shoppb.StepRequest],
) reacting.Reaction {
	return reacting.Single(func(
		ctx context.Context, s reacting.Scope, e *shoppb.OrderCancelled,
	) (events.Event, error) {
		taken, err := s.Take(ctx, e.GetOrder(), undo...)
		if err == nil && !taken && forbid != nil {
			_, err = s.Take(ctx, e.GetOrder(), forbid)
		}
		return nil, err
	})
}

// Orders makes the reactions of the orders, on their database: they confirm or reject
// pending orders, which skip the states between. keep keeps changes of the catalog, if the
// orders have a replica.
func Orders(
	db *database.DB, book *orders.Book, sender reacting.Sender,
	keep func(ctx context.Context, changes []*shoppb.ProductRepriced) error,
) reacting.Handler {
	return reacting.Handle(db, sender, nil,
		reacting.Step[*shoppb.OrderShipped, *shoppb.StepRequest]{
			Take: book.ConfirmAll,
			Asks: func(e *shoppb.OrderShipped) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) },
			Done: func(e *shoppb.OrderShipped) events.Event { return reacting.Confirmed(e.GetOrder()) },
		}.Reaction(),
		rejection[*shoppb.StockRefused](book), rejection[*shoppb.PaymentDeclined](book),
		reacting.Keep(keep),
	)
}

// rejection makes the reaction to events of a refusal: the order is rejected.
func rejection[E reacting.Refusal](book *orders.Book) reacting.Reaction {
	return reacting.Single(func(ctx context.Context, s reacting.Scope, e E) (events.Event, error) {
		return s.Reject(ctx, book, e.GetOrder(), e.GetRejection())
	})
}
