package orderviews

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/readmodel"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Collection returns the documents of orders, by the order's id.
func Collection() document.Collection {
	return document.Collection{Name: "order_views", Indexed: []string{customerField}}
}

const customerField = "customer"

// Body is an order as a document.
type Body struct {
	Customer       string     `json:"customer"` // as text, since queries compare texts
	IdempotencyKey string     `json:"idempotencyKey"`
	Lines          []BodyLine `json:"lines"`
	TotalCents     int64      `json:"totalCents"`
	State          string     `json:"state"`
	Rejection      *Reason    `json:"rejection,omitempty"`
	CreatedUnixUs  int64      `json:"createdUnixUs"`
	readmodel.Times
}

// BodyLine is a line of an order.
type BodyLine struct {
	ProductID      int64  `json:"productId"`
	Name           string `json:"name"`
	Quantity       int64  `json:"quantity"`
	UnitPriceCents int64  `json:"unitPriceCents"`
}

// Reason is the reason why an order was rejected.
type Reason struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// Documents implements shop.OrderViews on documents that events keep up to date.
// An order is there when its first event has come. An older version never replaces a
// newer one, so that a client never sees an order go back.
type Documents struct {
	readmodel.Model // its Apply takes the events about orders
}

var _ shop.OrderViews = Documents{}

// FromDocuments makes views of a store that knows the Collection. For shown see readmodel.New.
func FromDocuments(store document.Store, shown readmodel.Shown) Documents {
	return Documents{readmodel.New(store, Collection().Name, write, shown)}
}

// write makes a document of the order in an event.
func write(e events.Event, now time.Time) (document.Document, error) {
	about, ok := e.(events.OfOrder)
	if !ok {
		return document.Document{}, fmt.Errorf("event %s is not about an order", e.GetHappening().GetEventId())
	}
	order := about.GetOrder()
	body := Body{
		Customer: strconv.FormatInt(order.GetCustomerId(), 10), IdempotencyKey: order.GetIdempotencyKey(),
		Lines: make([]BodyLine, len(order.GetLines())), TotalCents: order.GetTotalCents(), State: order.GetState(),
		CreatedUnixUs: order.GetCreatedUnixUs(), Times: readmodel.TimesOf(e, now),
	}
	for i, line := range order.GetLines() {
		body.Lines[i] = BodyLine{line.GetProductId(), line.GetName(), line.GetQuantity(), line.GetUnitPriceCents()}
	}
	if why := order.GetRejection(); why != nil {
		body.Rejection = &Reason{why.GetKind(), why.GetDetail()}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return document.Document{}, fmt.Errorf("write order %s: %w", order.GetOrderId(), err)
	}
	return document.Document{ID: order.GetOrderId(), Version: order.GetVersion(), Body: text}, nil
}

// read returns the order in a document: the reverse of write.
func read(d document.Document) (*shoppb.Order, error) {
	var body Body
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return nil, fmt.Errorf("read order %s: %w", d.ID, err)
	}
	customer, err := strconv.ParseInt(body.Customer, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read order %s: %w", d.ID, err)
	}
	order := &shoppb.Order{
		OrderId: d.ID, IdempotencyKey: body.IdempotencyKey, CustomerId: customer, TotalCents: body.TotalCents,
		State: body.State, Version: d.Version, CreatedUnixUs: body.CreatedUnixUs,
		Lines: make([]*shoppb.OrderLine, len(body.Lines)),
	}
	for i, line := range body.Lines {
		order.Lines[i] = &shoppb.OrderLine{ProductId: line.ProductID, Name: line.Name, Quantity: line.Quantity,
			UnitPriceCents: line.UnitPriceCents}
	}
	if body.Rejection != nil {
		order.Rejection = &shoppb.Rejection{Kind: body.Rejection.Kind, Detail: body.Rejection.Detail}
	}
	return order, nil
}

// GetOrder implements shop.OrderViews.
func (v Documents) GetOrder(ctx context.Context, in *shoppb.GetOrderRequest) (*shoppb.Order, error) {
	if err := shop.CheckOrderID(in.GetOrderId()); err != nil {
		return nil, err
	}
	d, found, err := v.Get(ctx, in.GetOrderId())
	if err == nil && !found {
		err = rpc.Problemf(shop.NotFound, "there is no order %s", in.GetOrderId())
	}
	if err != nil {
		return nil, err
	}
	return read(d)
}

// ListOrders implements shop.OrderViews. The cursor is the id of the last order.
func (v Documents) ListOrders(ctx context.Context, in *shoppb.ListOrdersRequest) (*shoppb.OrderPage, error) {
	size, err := checkList(in)
	if err != nil {
		return nil, err
	}
	found, err := v.Find(ctx, document.Query{
		Field: customerField, Value: strconv.FormatInt(in.GetCustomerId(), 10), After: in.GetCursor(),
		Descending: true, Limit: size + 1,
	})
	if err != nil {
		return nil, err
	}
	orders := make([]*shoppb.Order, len(found))
	for i, d := range found {
		if orders[i], err = read(d); err != nil {
			return nil, err
		}
	}
	return page(orders, size), nil
}
