// Package events encodes and decodes the events of the shop: the type, id and key of each,
// and which component takes which. Their content is in shoppb.
// It neither carries them (binding/event does) nor reacts to them (coordination/
// choreographed, coordination/brokered and the read models do).
//
// Entry points: Encode, Decode, Topology.
package events

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The types of events, by which the broker routes them. Each follows from the name of its message: see
// typeOf.
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
	ProductRepriced = "product.repriced"

	// Commands of the orders to the others, and the replies that are no event above.
	ReserveStock    = "reserve.stock"
	CapturePayment  = "capture.payment"
	CommitStock     = "commit.stock"
	StockCommitted  = "stock.committed"
	ShipOrder       = "ship.order"
	ReleaseStock    = "release.stock"
	StockReleased   = "stock.released"
	RecallOrder     = "recall.order"
	OrderRecalled   = "order.recalled"
	ReturnStock     = "return.stock"
	StockReturned   = "stock.returned"
	RefundPayment   = "refund.payment"
	PaymentRefunded = "payment.refunded"
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

// typeOf returns the type of an event, which follows from the name of its message: "order.placed" of
// OrderPlaced.
func typeOf(e Event) string {
	name := string(e.ProtoReflect().Descriptor().Name())
	second := 1 + strings.IndexFunc(name[1:], unicode.IsUpper)
	return strings.ToLower(name[:second]) + "." + strings.ToLower(name[second:])
}

// empty makes an event of a type, or nil where there is no such type.
func empty(kind string) Event {
	about, happened, _ := strings.Cut(kind, ".")
	if about == "" || happened == "" {
		return nil
	}
	prefix := shoppb.File_systems_shop_shoppb_events_proto.Package()
	name := strings.ToUpper(about[:1]) + about[1:] + strings.ToUpper(happened[:1]) + happened[1:]
	found, err := protoregistry.GlobalTypes.FindMessageByName(prefix.Append(protoreflect.Name(name)))
	if err != nil {
		return nil
	}
	e, is := found.New().Interface().(Event)
	if !is || typeOf(e) != kind { // "Order.placed" is none
		return nil
	}
	return e
}

// Encode returns the message of an event that happens now. Its id follows from its content, so that a
// repetition has the same id. Events of one order, and of one product, have the same key.
func Encode(e Event, now time.Time) (broker.Message, error) {
	m := broker.Message{Type: typeOf(e)}
	switch e := e.(type) {
	case *shoppb.StockChanged:
		m.Key = "product-" + strconv.FormatInt(e.GetStock().GetProductId(), 10)
		m.ID = fmt.Sprintf("%s/%s/%d", m.Key, m.Type, e.GetVersion())
	case *shoppb.ProductRepriced:
		m.Key = "product-" + strconv.FormatInt(e.GetPrice().GetProductId(), 10)
		m.ID = fmt.Sprintf("%s/%s/%d", m.Key, m.Type, e.GetPrice().GetVersion())
	case OfOrder:
		m.Key = e.GetOrder().GetOrderId()
		m.ID = m.Key + "/" + m.Type
	}
	if m.ID == "" {
		return m, fmt.Errorf("encode %T: the shop has no such event", e)
	}
	happening := &shoppb.Happening{EventId: m.ID, OccurredUnixUs: now.UnixMicro()}
	message := e.ProtoReflect()
	field := message.Descriptor().Fields().ByName("happening")
	message.Set(field, protoreflect.ValueOfMessage(happening.ProtoReflect()))
	var err error
	if m.Body, err = proto.Marshal(e); err != nil {
		return m, fmt.Errorf("encode event %s: %w", m.ID, err)
	}
	return m, nil
}

// Decode reads an event from a message. It refuses events that the shop does not have, and orders without
// lines.
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

// deliveryLimit is the number of deliveries of an event to a component that fails to handle it, before it
// becomes a dead letter. Deliveries to a component that cannot be reached do not count.
const deliveryLimit = 6

// Purposes holds the uses of events in a shop.
type Purposes struct {
	Saga      bool // each component reacts to the step before its own
	Commands  bool // the orders command each step
	Views     bool // read models are kept up to date
	Reference bool // the orders keep a copy of the catalog up to date
}

// Topology returns the queues of the components, each named after its component, with the types of events
// that it takes.
func Topology(purposes Purposes) broker.Topology {
	t := broker.Topology{Exchange: shop.Name}
	var ofOrders []string
	if purposes.Saga {
		t.Queues = append(t.Queues,
			broker.Queue{Name: shop.ComponentInventory, Types: []string{OrderPlaced, PaymentDeclined, OrderConfirmed,
				OrderCancelled}},
			broker.Queue{Name: shop.ComponentPayments, Types: []string{StockReserved, OrderCancelled}},
			broker.Queue{Name: shop.ComponentShipping, Types: []string{PaymentCaptured, OrderCancelled}})
		ofOrders = []string{StockRefused, PaymentDeclined, OrderShipped}
	}
	if purposes.Commands {
		t.Queues = append(t.Queues,
			broker.Queue{Name: shop.ComponentInventory, Types: []string{ReserveStock, CommitStock, ReleaseStock,
				ReturnStock}},
			broker.Queue{Name: shop.ComponentPayments, Types: []string{CapturePayment, RefundPayment}},
			broker.Queue{Name: shop.ComponentShipping, Types: []string{ShipOrder, RecallOrder}})
		ofOrders = []string{StockReserved, StockRefused, PaymentCaptured, PaymentDeclined, StockCommitted,
			OrderShipped, StockReleased, OrderRecalled, StockReturned, PaymentRefunded}
	}
	if purposes.Reference {
		ofOrders = append(ofOrders, ProductRepriced)
	}
	if len(ofOrders) > 0 {
		t.Queues = append(t.Queues, broker.Queue{Name: shop.ComponentOrders, Types: ofOrders})
	}
	if purposes.Views {
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
