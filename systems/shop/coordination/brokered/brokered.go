// Package brokered carries an order through components that have databases of their own: a saga that the
// orders drive, as that of package orchestrated, but over a broker. They send commands and take replies:
//
//	orders     takes an order                -> ReserveStock
//	           StockReserved                 -> CapturePayment
//	           PaymentCaptured               -> CommitStock
//	           StockCommitted                -> ShipOrder
//	           OrderShipped: confirms        -> OrderConfirmed
//	           StockRefused: rejects         -> OrderRejected
//	           PaymentDeclined               -> ReleaseStock
//	           StockReleased: rejects        -> OrderRejected
//	           a customer cancels            -> OrderCancelled, RecallOrder
//	           OrderRecalled                 -> ReturnStock
//	           StockReturned                 -> RefundPayment
//	           PaymentRefunded
//	others     a command: take its step      -> the reply
//
// The steps and their order are those of package orchestrated; no thread waits for a reply. OrderPlaced,
// OrderConfirmed, OrderRejected and OrderCancelled are for read models alone. A component knows its commands
// and their replies, and no message of another component.
//
// The state of a saga is a row of the table sagas. A reply moves it on in the transaction that sends the next
// command, so that a reply for which the saga does not wait, or not any more, has no effect. Package reacting
// describes how messages are taken.
//
// Entry points: New for the coordinator; Inventory, Payments, Shipping and Orders for the reactions.
package brokered

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
	all := newSagas(db)
	return reacting.NewCoordinator(db, book, sender, reference, batch, reacting.Saga{
		Begin: func(
			ctx context.Context, taken []*coordination.Placing,
		) (published []events.Event, err error) {
			begun := make([]string, len(taken))
			for i, p := range taken {
				placed := reacting.Placed(p)
				begun[i] = p.GetOrderId()
				published = append(published, placed, &shoppb.ReserveStock{Order: p.Priced,
					Recipient: placed.Recipient, Address: placed.Address})
			}
			return published, all.begin(ctx, begun)
		},
		Undo: func(ctx context.Context, cancelled *shoppb.Order) ([]events.Event, error) {
			if err := all.undo(ctx, cancelled.GetOrderId()); err != nil {
				return nil, err
			}
			return []events.Event{&shoppb.OrderCancelled{Order: cancelled}, &shoppb.RecallOrder{Order: cancelled}},
				nil
		},
	})
}

// Orders makes the reactions of the orders to replies, on their database: each moves a saga from one state to
// the next, and sends its next command. keep keeps changes of the catalog, if the orders have a replica.
func Orders(
	db *database.DB, book *orders.Book, sender reacting.Sender,
	keep func(ctx context.Context, changes []*shoppb.ProductRepriced) error,
) reacting.Handler {
	all := newSagas(db)
	return reacting.Handle(db, sender, nil,
		reply(all.move(reserving, charging), func(e *shoppb.StockReserved) events.Event {
			return &shoppb.CapturePayment{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
		}),
		reply(all.move(charging, committing), func(e *shoppb.PaymentCaptured) events.Event {
			return &shoppb.CommitStock{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
		}),
		reply(all.move(committing, shipping), func(e *shoppb.StockCommitted) events.Event {
			return &shoppb.ShipOrder{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
		}),
		reply(all.confirm(book), func(e *shoppb.OrderShipped) events.Event {
			return reacting.Confirmed(e.GetOrder())
		}),
		rejection[*shoppb.StockRefused](all, reserving, book),
		reply(all.move(charging, releasing), func(e *shoppb.PaymentDeclined) events.Event {
			return &shoppb.ReleaseStock{Order: e.GetOrder(), Rejection: e.GetRejection()}
		}),
		rejection[*shoppb.StockReleased](all, releasing, book),
		reply(all.move(recalling, restocking), func(e *shoppb.OrderRecalled) events.Event {
			return &shoppb.ReturnStock{Order: e.GetOrder()}
		}),
		reply(all.move(restocking, refunding), func(e *shoppb.StockReturned) events.Event {
			return &shoppb.RefundPayment{Order: e.GetOrder()}
		}),
		reply[*shoppb.PaymentRefunded](all.move(refunding, undone), nil),
		reacting.Keep(keep),
	)
}

// reply makes the reaction to replies of a type: they move their sagas, which then send next.
func reply[E events.OfOrder](
	move steps.Step[*shoppb.StepRequest], next func(e E) events.Event,
) reacting.Reaction {
	return reacting.Step[E, *shoppb.StepRequest]{Take: move, Done: next,
		Asks: func(e E) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) }}.Reaction()
}

// rejection makes the reaction to the last reply of an order that is rejected. They are too few for batches.
func rejection[E reacting.Refusal](all sagas, from string, book *orders.Book) reacting.Reaction {
	return reacting.Single(func(ctx context.Context, s reacting.Scope, e E) (events.Event, error) {
		moved, err := s.Take(ctx, e.GetOrder(), steps.Alone(all.move(from, rejected)))
		if err != nil || !moved {
			return nil, err
		}
		return s.Reject(ctx, book, e.GetOrder(), e.GetRejection())
	})
}
