package choreographed

import (
	"context"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Components that take a step for many orders at once have these methods, too; see
// there. One that has not, because it is somewhere else, is asked order by order.
type (
	stockOfMany interface {
		ReserveAll(ctx context.Context, all []*shoppb.ReserveRequest) (refused []*shoppb.Rejection, plain bool, err error)
		CommitAll(ctx context.Context, orders []string) (bool, error)
	}
	paymentsOfMany interface {
		ChargeAll(ctx context.Context, all []*shoppb.AuthoriseRequest) (refused []*shoppb.Rejection, plain bool, err error)
	}
	shippingOfMany interface {
		ShipAll(ctx context.Context, all []*shoppb.ShipRequest) (bool, error)
	}
)

func manyReservations(component Stock) []groupReaction {
	stock, able := component.(stockOfMany)
	if !able {
		return nil
	}
	return []groupReaction{
		every(func(ctx context.Context, group []*shoppb.OrderPlaced) ([]events.Event, bool, error) {
			asked := each(group, func(e *shoppb.OrderPlaced) *shoppb.ReserveRequest { return reservationOf(e.GetOrder()) })
			refused, plain, err := stock.ReserveAll(ctx, asked)
			return tellAll(group, refused, reserved, stockRefused), plain, err
		}),
		every(func(ctx context.Context, group []*shoppb.OrderConfirmed) ([]events.Event, bool, error) {
			plain, err := stock.CommitAll(ctx, each(group, orderID[*shoppb.OrderConfirmed]))
			return nil, plain, err
		}),
	}
}

func manyPayments(component shop.Payments) []groupReaction {
	payments, able := component.(paymentsOfMany)
	if !able {
		return nil
	}
	return []groupReaction{every(func(ctx context.Context, group []*shoppb.StockReserved) ([]events.Event, bool, error) {
		asked := each(group, func(e *shoppb.StockReserved) *shoppb.AuthoriseRequest { return chargeOf(e.GetOrder()) })
		refused, plain, err := payments.ChargeAll(ctx, asked)
		return tellAll(group, refused, captured, paymentDeclined), plain, err
	})}
}

func manyShipments(component shop.Shipping) []groupReaction {
	shipping, able := component.(shippingOfMany)
	if !able {
		return nil
	}
	return []groupReaction{every(func(ctx context.Context, group []*shoppb.PaymentCaptured) ([]events.Event, bool, error) {
		plain, err := shipping.ShipAll(ctx, each(group, shipmentOf))
		return tellAll(group, nil, shipped, nil), plain, err
	})}
}

func manyConfirmations(book *orders.Book) []groupReaction {
	return []groupReaction{every(func(ctx context.Context, group []*shoppb.OrderShipped) ([]events.Event, bool, error) {
		plain, err := book.ConfirmAll(ctx, each(group, orderID[*shoppb.OrderShipped]))
		return tellAll(group, nil, confirmed, nil), plain, err
	})}
}

// each is what every event of a group asks for.
func each[E events.Event, Q any](group []E, asks func(E) Q) []Q {
	asked := make([]Q, len(group))
	for i, e := range group {
		asked[i] = asks(e)
	}
	return asked
}

func orderID[E events.OfOrder](e E) string { return e.GetOrder().GetOrderId() }

// tellAll is what is told of a group: of what was refused another thing than of what
// was not. Without refusals there were none.
func tellAll[E events.Event](group []E, refused []*shoppb.Rejection, done func(E) events.Event, not func(E, *shoppb.Rejection) events.Event) []events.Event {
	told := make([]events.Event, len(group))
	for i, e := range group {
		if refused != nil && refused[i] != nil {
			told[i] = not(e, refused[i])
		} else {
			told[i] = done(e)
		}
	}
	return told
}

// What events ask of components.

func reservationOf(order *shoppb.Order) *shoppb.ReserveRequest {
	return &shoppb.ReserveRequest{OrderId: order.GetOrderId(), Lines: coordination.Lines(order)}
}

func chargeOf(order *shoppb.Order) *shoppb.AuthoriseRequest {
	return &shoppb.AuthoriseRequest{OrderId: order.GetOrderId(), CustomerId: order.GetCustomerId(), AmountCents: order.GetTotalCents()}
}

func shipmentOf(e *shoppb.PaymentCaptured) *shoppb.ShipRequest {
	return &shoppb.ShipRequest{OrderId: e.GetOrder().GetOrderId(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
}

// What events lead to.

func reserved(e *shoppb.OrderPlaced) events.Event {
	return &shoppb.StockReserved{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
}

func stockRefused(e *shoppb.OrderPlaced, why *shoppb.Rejection) events.Event {
	return &shoppb.StockRefused{Order: e.GetOrder(), Rejection: why}
}

func captured(e *shoppb.StockReserved) events.Event {
	return &shoppb.PaymentCaptured{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
}

func paymentDeclined(e *shoppb.StockReserved, why *shoppb.Rejection) events.Event {
	return &shoppb.PaymentDeclined{Order: e.GetOrder(), Rejection: why}
}

func shipped(e *shoppb.PaymentCaptured) events.Event {
	return &shoppb.OrderShipped{Order: e.GetOrder()}
}

func confirmed(e *shoppb.OrderShipped) events.Event {
	return &shoppb.OrderConfirmed{Order: advanced(e.GetOrder(), shop.StateConfirmed, nil)}
}
