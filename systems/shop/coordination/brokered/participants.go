package brokered

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Inventory makes the reactions of the inventory to its commands, on its database. With views it also
// publishes the stock of each product that a transaction has changed, once.
func Inventory(
	db *database.DB, component reacting.Stock, sender reacting.Sender, views bool,
) reacting.Handler {
	return reacting.Handle(db, sender, reacting.Levels(component, views),
		reacting.Reserve[*shoppb.ReserveStock](component),
		reacting.Step[*shoppb.CommitStock, *shoppb.StepRequest]{
			Take: component.CommitAll,
			Asks: func(e *shoppb.CommitStock) *shoppb.StepRequest { return coordination.Step(e.GetOrder()) },
			Done: func(e *shoppb.CommitStock) events.Event {
				return &shoppb.StockCommitted{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
			},
		}.Reaction(),
		compensation(component.Release, func(e *shoppb.ReleaseStock) events.Event {
			return &shoppb.StockReleased{Order: e.GetOrder(), Rejection: e.GetRejection()}
		}),
		compensation(component.Restock, func(e *shoppb.ReturnStock) events.Event {
			return &shoppb.StockReturned{Order: e.GetOrder()}
		}),
	)
}

// Payments makes the reactions of the payments to their commands, on their database.
func Payments(db *database.DB, component coordination.Payments, sender reacting.Sender) reacting.Handler {
	return reacting.Handle(db, sender, nil,
		reacting.Capture[*shoppb.CapturePayment](component),
		compensation(component.Refund, func(e *shoppb.RefundPayment) events.Event {
			return &shoppb.PaymentRefunded{Order: e.GetOrder()}
		}),
	)
}

// Shipping makes the reactions of the shipping to its commands, on its database.
func Shipping(db *database.DB, component coordination.Shipping, sender reacting.Sender) reacting.Handler {
	return reacting.Handle(db, sender, nil,
		reacting.Ship[*shoppb.ShipOrder](component),
		compensation(component.Recall, func(e *shoppb.RecallOrder) events.Event {
			return &shoppb.OrderRecalled{Order: e.GetOrder()}
		}),
	)
}

// compensation makes the reaction to commands that undo a step. They are too few for batches.
func compensation[E events.OfOrder](
	undo steps.Ask[*shoppb.StepRequest], done func(e E) events.Event,
) reacting.Reaction {
	return reacting.Single(func(ctx context.Context, s reacting.Scope, e E) (events.Event, error) {
		taken, err := s.Take(ctx, e.GetOrder(), undo)
		if err != nil || !taken {
			return nil, err
		}
		return done(e), nil
	})
}
