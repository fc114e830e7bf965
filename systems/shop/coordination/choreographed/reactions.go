package choreographed

import (
	"context"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// reacting joins a reaction with the outbox that its events go to.
func reacting(db *database.DB, outbox Outbox, one reaction, many ...groupReaction) func(ctx context.Context, messages []broker.Message) error {
	all := &reactions{db: db, one: one, many: many}
	return func(ctx context.Context, messages []broker.Message) error {
		came, err := decode(messages)
		if err != nil {
			return err
		}
		told, err := all.to(ctx, came)
		if err != nil {
			return err
		}
		return tell(ctx, outbox, told...)
	}
}

// Payments makes the reactions of the payments, on their database.
func Payments(db *database.DB, component shop.Payments, outbox Outbox) func(ctx context.Context, messages []broker.Message) error {
	return reacting(db, outbox, func(ctx context.Context, s scope, e events.Event) (events.Event, error) {
		switch e := e.(type) {
		case *shoppb.StockReserved:
			return charge(ctx, s, component, e)
		case *shoppb.OrderCancelled:
			return nil, refund(ctx, s, component, e.GetOrder())
		}
		return nil, unexpected(e)
	}, manyPayments(component)...)
}

// charge takes the money of an order.
func charge(ctx context.Context, s scope, component shop.Payments, e *shoppb.StockReserved) (events.Event, error) {
	order := e.GetOrder()
	taken, why, err := s.ask(ctx, func(ctx context.Context) error {
		_, err := component.Charge(ctx, chargeOf(order))
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case why != nil: // and so it stays, whatever comes onto the account
		_, err := component.Void(ctx, stepOf(order))
		return paymentDeclined(e, why), err
	case !taken:
		return nil, nil
	}
	return captured(e), nil
}

// refund undoes the payment of a cancelled order; where it is told before the
// payment, it forbids it.
func refund(ctx context.Context, s scope, component shop.Payments, order *shoppb.Order) error {
	taken, err := s.take(ctx, func(ctx context.Context) error {
		_, err := component.Refund(ctx, stepOf(order))
		return err
	})
	if err != nil || taken {
		return err
	}
	_, err = s.take(ctx, func(ctx context.Context) error {
		_, err := component.Void(ctx, stepOf(order))
		return err
	})
	return err
}

// Shipping makes the reactions of the shipping, on its database.
func Shipping(db *database.DB, component shop.Shipping, outbox Outbox) func(ctx context.Context, messages []broker.Message) error {
	return reacting(db, outbox, func(ctx context.Context, s scope, e events.Event) (events.Event, error) {
		switch e := e.(type) {
		case *shoppb.PaymentCaptured:
			taken, err := s.take(ctx, func(ctx context.Context) error {
				_, err := component.Ship(ctx, shipmentOf(e))
				return err
			})
			if err != nil || !taken {
				return nil, err
			}
			return shipped(e), nil
		case *shoppb.OrderCancelled:
			_, err := s.take(ctx, func(ctx context.Context) error {
				_, err := component.Recall(ctx, stepOf(e.GetOrder()))
				return err
			})
			return nil, err
		}
		return nil, unexpected(e)
	}, manyShipments(component)...)
}

// Orders makes the reactions of the orders, on their database.
func Orders(db *database.DB, book *orders.Book, outbox Outbox) func(ctx context.Context, messages []broker.Message) error {
	return reacting(db, outbox, func(ctx context.Context, s scope, e events.Event) (events.Event, error) {
		switch e := e.(type) {
		case *shoppb.OrderShipped:
			return end(ctx, s, book, advanced(e.GetOrder(), shop.StateConfirmed, nil), confirmed(e))
		case *shoppb.StockRefused:
			rejected := advanced(e.GetOrder(), shop.StateRejected, e.GetRejection())
			return end(ctx, s, book, rejected, &shoppb.OrderRejected{Order: rejected})
		case *shoppb.PaymentDeclined:
			rejected := advanced(e.GetOrder(), shop.StateRejected, e.GetRejection())
			return end(ctx, s, book, rejected, &shoppb.OrderRejected{Order: rejected})
		}
		return nil, unexpected(e)
	}, manyConfirmations(book)...)
}

// end brings a pending order to its end. The states between are passed in that
// moment.
func end(ctx context.Context, s scope, book *orders.Book, order *shoppb.Order, e events.Event) (events.Event, error) {
	taken, err := s.take(ctx, func(ctx context.Context) error {
		_, err := book.Advance(ctx, order.GetOrderId(), shop.StatePending, shop.State(order.GetState()), order.GetRejection())
		return err
	})
	if err != nil || !taken {
		return nil, err
	}
	return e, nil
}
