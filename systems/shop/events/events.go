// Package events puts the events of the shop on their way and reads them: what
// type, name and key each has, and who takes which. What they say is in shoppb.
// It neither carries them (binding/event does) nor reacts to them (coordination/
// choreographed and the read models do).
//
// Entry points: Encode, Decode, Topology.
package events

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The types of events: what the broker goes by.
const (
	OrderPlaced     = "order.placed"
	StockReserved   = "stock.reserved"
	StockRefused    = "stock.refused"
	PaymentCaptured = "payment.captured"
	PaymentDeclined = "payment.declined"
	OrderShipped    = "order.shipped"
	OrderConfirmed  = "order.confirmed"
	OrderRejected   = "order.rejected"
	OrderCancelled  = "order.cancelled"
	StockChanged    = "stock.changed"
)

// Event is one of the messages in shoppb that tell what happened.
type Event interface {
	proto.Message
	GetHappening() *shoppb.Happening
}

// OfOrder is an event about an order.
type OfOrder interface {
	Event
	GetOrder() *shoppb.Order
}

// empty makes an event of a type, or nil where there is no such type.
func empty(kind string) Event {
	switch kind {
	case OrderPlaced:
		return &shoppb.OrderPlaced{}
	case StockReserved:
		return &shoppb.StockReserved{}
	case StockRefused:
		return &shoppb.StockRefused{}
	case PaymentCaptured:
		return &shoppb.PaymentCaptured{}
	case PaymentDeclined:
		return &shoppb.PaymentDeclined{}
	case OrderShipped:
		return &shoppb.OrderShipped{}
	case OrderConfirmed:
		return &shoppb.OrderConfirmed{}
	case OrderRejected:
		return &shoppb.OrderRejected{}
	case OrderCancelled:
		return &shoppb.OrderCancelled{}
	case StockChanged:
		return &shoppb.StockChanged{}
	}
	return nil
}

// typeOf returns the reverse of empty. It gives the event its happening, too.
func typeOf(e Event, happening *shoppb.Happening) string {
	switch e := e.(type) {
	case *shoppb.OrderPlaced:
		e.Happening = happening
		return OrderPlaced
	case *shoppb.StockReserved:
		e.Happening = happening
		return StockReserved
	case *shoppb.StockRefused:
		e.Happening = happening
		return StockRefused
	case *shoppb.PaymentCaptured:
		e.Happening = happening
		return PaymentCaptured
	case *shoppb.PaymentDeclined:
		e.Happening = happening
		return PaymentDeclined
	case *shoppb.OrderShipped:
		e.Happening = happening
		return OrderShipped
	case *shoppb.OrderConfirmed:
		e.Happening = happening
		return OrderConfirmed
	case *shoppb.OrderRejected:
		e.Happening = happening
		return OrderRejected
	case *shoppb.OrderCancelled:
		e.Happening = happening
		return OrderCancelled
	case *shoppb.StockChanged:
		e.Happening = happening
		return StockChanged
	}
	return ""
}

// Encode makes a message of an event that happens now. Its id follows from what it
// says, so that a repetition has the same. Events of one order, and of one product,
// have one key.
func Encode(e Event, now time.Time) (broker.Message, error) {
	happening := &shoppb.Happening{OccurredUnixUs: now.UnixMicro()}
	m := broker.Message{Type: typeOf(e, happening)}
	switch e := e.(type) {
	case *shoppb.StockChanged:
		m.Key = "product-" + strconv.FormatInt(e.GetStock().GetProductId(), 10)
		m.ID = fmt.Sprintf("%s/%s/%d", m.Key, m.Type, e.GetVersion())
	case OfOrder:
		m.Key = e.GetOrder().GetOrderId()
		m.ID = m.Key + "/" + m.Type
	}
	if m.Type == "" || m.ID == "" {
		return m, fmt.Errorf("encode %T: the shop has no such event", e)
	}
	happening.EventId = m.ID
	var err error
	if m.Body, err = proto.Marshal(e); err != nil {
		return m, fmt.Errorf("encode event %s: %w", m.ID, err)
	}
	return m, nil
}

// Decode reads an event from a message. What is no event of the shop, or says
// nothing that can be acted on, is an error.
func Decode(m broker.Message) (Event, error) {
	e := empty(m.Type)
	if e == nil {
		return nil, fmt.Errorf("decode message %s: the shop has no event of type %q", m.ID, m.Type)
	}
	if err := proto.Unmarshal(m.Body, e); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", m.ID, err)
	}
	if e.GetHappening().GetEventId() != m.ID {
		return nil, fmt.Errorf("decode event %s: it says that it is %q", m.ID, e.GetHappening().GetEventId())
	}
	if about, ok := e.(OfOrder); ok && len(about.GetOrder().GetLines()) == 0 {
		return nil, fmt.Errorf("decode event %s: its order has no lines", m.ID)
	}
	return e, nil
}

// deliveryLimit is how often an event is handed to a component that cannot take it
// before it is a dead letter. A part that does not answer is waited for and does
// not count.
const deliveryLimit = 6

// Topology says which component takes which events, each from a queue of its name.
// Without views nobody takes what only they would.
func Topology(views bool) broker.Topology {
	t := broker.Topology{Exchange: shop.Name, Queues: []broker.Queue{
		{Name: shop.ComponentInventory, Types: []string{OrderPlaced, PaymentDeclined, OrderConfirmed,
			OrderCancelled}},
		{Name: shop.ComponentPayments, Types: []string{StockReserved, OrderCancelled}},
		{Name: shop.ComponentShipping, Types: []string{PaymentCaptured, OrderCancelled}},
		{Name: shop.ComponentOrders, Types: []string{StockRefused, PaymentDeclined, OrderShipped}},
	}}
	if views {
		t.Queues = append(t.Queues,
			broker.Queue{Name: shop.ComponentOrderViews, Types: []string{OrderPlaced, OrderConfirmed, OrderRejected,
				OrderCancelled}},
			broker.Queue{Name: shop.ComponentStockViews, Types: []string{StockChanged}})
	}
	for i := range t.Queues {
		t.Queues[i].DeliveryLimit = deliveryLimit
	}
	return t
}
