package api

import (
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The bodies below are the public contract. They have the content of shoppb's messages, but they are separate
// types: messages between components may change, while clients get the same bodies. Integers are numbers in
// JSON, not strings as in the JSON of shoppb. The integers of requests are pointers, so that a missing one is
// not taken for zero.

type newOrder struct {
	CustomerID *int64    `json:"customerId"`
	Lines      []newLine `json:"lines"`
}

type newLine struct {
	ProductID *int64 `json:"productId"`
	Quantity  *int64 `json:"quantity"`
}

type newPrice struct {
	PriceCents *int64 `json:"priceCents"`
}

// Order is an order as clients see it.
type Order struct {
	OrderID    string      `json:"orderId"`
	CustomerID int64       `json:"customerId"`
	State      shop.State  `json:"state"`
	Lines      []OrderLine `json:"lines"`
	TotalCents int64       `json:"totalCents"`
	// Rejection is the reason why the order was rejected; absent in every other state.
	Rejection *Rejection `json:"rejection,omitempty"`
	Version   int64      `json:"version"`
	CreatedAt time.Time  `json:"createdAt"`
}

// OrderLine is a line of an order as clients see it.
type OrderLine struct {
	ProductID      int64  `json:"productId"`
	Name           string `json:"name"`
	Quantity       int64  `json:"quantity"`
	UnitPriceCents int64  `json:"unitPriceCents"`
}

// Rejection is the reason why an order was rejected. Type is the type of a problem, as TypeOf returns it.
type Rejection struct {
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

// Orders is a page of orders.
type Orders struct {
	Orders     []Order `json:"orders"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

// Product is a product as clients see it.
type Product struct {
	ProductID  int64  `json:"productId"`
	Name       string `json:"name"`
	PriceCents int64  `json:"priceCents"`
}

// Price is the price of a product. Its version rises with every change.
type Price struct {
	ProductID  int64 `json:"productId"`
	PriceCents int64 `json:"priceCents"`
	Version    int64 `json:"version"`
}

// Products is a page of products.
type Products struct {
	Products   []Product `json:"products"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// Stock is the stock of a product as clients see it.
type Stock struct {
	ProductID int64 `json:"productId"`
	OnHand    int64 `json:"onHand"`
	Reserved  int64 `json:"reserved"`
	Sold      int64 `json:"sold"`
}

// OrderPage is all that a customer sees of an order: the order itself, and the present state of its products
// and of its shipment.
type OrderPage struct {
	Order    Order           `json:"order"`
	Products []OrderPageLine `json:"products"` // of the order's lines; unknown products are left out
	// Shipment is absent if the order has no shipment (yet).
	Shipment *Shipment `json:"shipment,omitempty"`
}

// OrderPageLine is a product of an order with its present price and the number that is on hand.
type OrderPageLine struct {
	Product
	OnHand int64 `json:"onHand"`
}

// Customer is a customer as clients see it.
type Customer struct {
	CustomerID int64  `json:"customerId"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	Address    string `json:"address"`
}

// Account is the account of a customer as clients see it.
type Account struct {
	CustomerID   int64 `json:"customerId"`
	BalanceCents int64 `json:"balanceCents"`
}

// Shipment is the shipment of an order as clients see it.
type Shipment struct {
	OrderID   string `json:"orderId"`
	State     string `json:"state"`
	Recipient string `json:"recipient"`
	Address   string `json:"address"`
}

func orderBody(order *shoppb.Order) Order {
	body := Order{
		OrderID: order.GetOrderId(), CustomerID: order.GetCustomerId(), State: shop.State(order.GetState()),
		TotalCents: order.GetTotalCents(), Version: order.GetVersion(),
		CreatedAt: time.UnixMicro(order.GetCreatedUnixUs()).UTC(),
		Lines:     make([]OrderLine, len(order.GetLines())),
	}
	for i, line := range order.GetLines() {
		body.Lines[i] = OrderLine{line.GetProductId(), line.GetName(), line.GetQuantity(), line.GetUnitPriceCents()}
	}
	if reason := order.GetRejection(); reason != nil {
		body.Rejection = &Rejection{TypeOf(rpc.Kind(reason.GetKind())), reason.GetDetail()}
	}
	return body
}

func shipmentBody(s *shoppb.Shipment) Shipment {
	return Shipment{s.GetOrderId(), s.GetState(), s.GetRecipient(), s.GetAddress()}
}

func productBody(product *shoppb.Product) Product {
	return Product{product.GetProductId(), product.GetName(), product.GetPriceCents()}
}
