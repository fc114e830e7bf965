package reacting

import (
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Carried is an event that carries an order on, with its recipient and address.
type Carried interface {
	events.OfOrder
	GetRecipient() string
	GetAddress() string
}

// Reserve returns the reaction of the inventory that reserves an order at events of type E.
func Reserve[E Carried](component Stock) Reaction {
	return Step[E, *shoppb.ReserveRequest]{
		Take: component.ReserveAll,
		Asks: func(e E) *shoppb.ReserveRequest { return coordination.Reservation(e.GetOrder()) },
		Done: func(e E) events.Event {
			return &shoppb.StockReserved{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
		},
		Refused: func(e E, why *shoppb.Rejection) events.Event {
			return &shoppb.StockRefused{Order: e.GetOrder(), Rejection: why}
		},
		Forbid: component.ReleaseAll, // the refusal stays, whatever comes back to the shelf later
	}.Reaction()
}

// Capture returns the reaction of the payments that charges an order at events of type E.
func Capture[E Carried](component coordination.Payments) Reaction {
	return Step[E, *shoppb.ChargeRequest]{
		Take: component.ChargeAll,
		Asks: func(e E) *shoppb.ChargeRequest { return coordination.Charge(e.GetOrder()) },
		Done: func(e E) events.Event {
			return &shoppb.PaymentCaptured{Order: e.GetOrder(), Recipient: e.GetRecipient(), Address: e.GetAddress()}
		},
		Refused: func(e E, why *shoppb.Rejection) events.Event {
			return &shoppb.PaymentDeclined{Order: e.GetOrder(), Rejection: why}
		},
		Forbid: component.VoidAll, // the refusal stays, whatever comes onto the account later
	}.Reaction()
}

// Ship returns the reaction of the shipping that ships an order at events of type E. No rule of the shop
// refuses a shipment.
func Ship[E Carried](component coordination.Shipping) Reaction {
	return Step[E, *shoppb.ShipRequest]{
		Take: component.ShipAll,
		Asks: func(e E) *shoppb.ShipRequest {
			return &shoppb.ShipRequest{OrderId: e.GetOrder().GetOrderId(), Recipient: e.GetRecipient(),
				Address: e.GetAddress()}
		},
		Done: func(e E) events.Event { return &shoppb.OrderShipped{Order: e.GetOrder()} },
	}.Reaction()
}
