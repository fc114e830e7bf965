// Package coordination holds the common parts of the coordinators of orders: the components that they drive,
// the products and customers that must be known before an order is taken, and the order after each step. Each
// coordinator is a sub-package that implements orders.Coordinator: local takes all steps in one transaction,
// orchestrated in a saga of calls, brokered in a saga of commands, choreographed in a saga of events, and
// twophase in a distributed transaction.
package coordination

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The components that orders change, as they are in their own process: there they also take a step for a
// batch of orders; see package steps.
type (
	// Inventory holds the stock.
	Inventory interface {
		shop.Inventory
		ReserveAll(ctx context.Context, all []*shoppb.ReserveRequest) ([]steps.Outcome, error)
		CommitAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error)
		ReleaseAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error)
	}
	// Payments holds the accounts.
	Payments interface {
		shop.Payments
		ChargeAll(ctx context.Context, all []*shoppb.ChargeRequest) ([]steps.Outcome, error)
		VoidAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error)
	}
	// Shipping sends orders.
	Shipping interface {
		shop.Shipping
		ShipAll(ctx context.Context, all []*shoppb.ShipRequest) ([]steps.Outcome, error)
	}
)

// Reference knows the customers and products of orders: Asked, or the orders' replica (package reference).
type Reference interface {
	// Of looks up the customers and products of orders.
	Of(ctx context.Context, orders []*shoppb.Order) (Known, error)
}

// Known holds the customers and products of some orders, by their ids. An id that does
// not exist has nil.
type Known struct {
	Customers map[int64]*shoppb.Customer
	Products  map[int64]*shoppb.Product
}

// About returns the ids of some orders' customers and products, all without a value yet.
func About(orders []*shoppb.Order) Known {
	k := Known{Customers: map[int64]*shoppb.Customer{}, Products: map[int64]*shoppb.Product{}}
	for _, order := range orders {
		k.Customers[order.GetCustomerId()] = nil
		for _, line := range order.GetLines() {
			k.Products[line.GetProductId()] = nil
		}
	}
	return k
}

// price returns a copy of an order with names, prices and total, and its customer. It fails with
// UnknownCustomer or UnknownProduct.
func (k Known) price(order *shoppb.Order) (*shoppb.Order, *shoppb.Customer, error) {
	customer := k.Customers[order.GetCustomerId()]
	if customer == nil {
		return nil, nil, shop.NoCustomer(order.GetCustomerId())
	}
	priced := proto.CloneOf(order)
	priced.TotalCents = 0
	for _, line := range priced.Lines {
		product := k.Products[line.ProductId]
		if product == nil {
			return nil, nil, shop.NoProduct(line.ProductId)
		}
		line.Name = product.GetName()
		line.UnitPriceCents = product.GetPriceCents()
		priced.TotalCents += line.Quantity * line.UnitPriceCents
	}
	return priced, customer, nil
}

// Rejected returns a copy of a new order that is rejected for a reason.
func Rejected(order *shoppb.Order, reason *shoppb.Rejection) *shoppb.Order {
	rejected := proto.CloneOf(order)
	rejected.State = string(shop.StateRejected)
	rejected.Rejection = reason
	return rejected
}

// Advanced returns a copy of a pending order in its next state, as it is on record then. A rejected one has a
// reason.
func Advanced(order *shoppb.Order, state shop.State, reason *shoppb.Rejection) *shoppb.Order {
	next := proto.CloneOf(order)
	next.State = string(state)
	next.Rejection = reason
	next.Version = order.GetVersion() + 1
	return next
}

// Placing is an order that is being placed.
type Placing struct {
	Order *shoppb.Order // as it was asked for
	// Priced is a copy of the order with its prices, and Customer its customer, once they are looked up.
	Priced   *shoppb.Order
	Customer *shoppb.Customer
	Err      error // why it cannot be placed: UnknownCustomer or UnknownProduct after LookUp
}

// GetOrderId implements steps.OfOrder.
func (p *Placing) GetOrderId() string { return p.Order.GetOrderId() }

// LookUp looks up the customers and products of orders.
func LookUp(ctx context.Context, reference Reference, all ...*Placing) error {
	wanted := make([]*shoppb.Order, len(all))
	for i, p := range all {
		wanted[i] = p.Order
	}
	known, err := reference.Of(ctx, wanted)
	if err != nil {
		return err
	}
	for _, p := range all {
		p.Priced, p.Customer, p.Err = known.price(p.Order)
	}
	return nil
}

// OnRecord returns an order as it is on record, which includes its prices, and its customer.
func OnRecord(
	ctx context.Context, book *orders.Book, reference Reference, id string,
) (*shoppb.Order, *shoppb.Customer, error) {
	order, err := book.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	// An order without lines: the products need not be looked up again, so the catalog need not be there.
	p := &Placing{Order: &shoppb.Order{CustomerId: order.GetCustomerId()}}
	err = LookUp(ctx, reference, p)
	return order, p.Customer, cmp.Or(err, p.Err)
}

// Refuse records a new order that err, a rule of the shop, rejects. It returns any other error.
func Refuse(ctx context.Context, book *orders.Book, order *shoppb.Order, err error) (*shoppb.Order, error) {
	reason, refused := shop.Rejects(err)
	if !refused {
		return nil, err
	}
	rejected := Rejected(order, reason)
	return rejected, book.Record(ctx, rejected)
}

// Reservation returns the request to reserve an order's lines.
func Reservation(order *shoppb.Order) *shoppb.ReserveRequest {
	lines := make([]*shoppb.Line, len(order.GetLines()))
	for i, line := range order.GetLines() {
		lines[i] = &shoppb.Line{ProductId: line.GetProductId(), Quantity: line.GetQuantity()}
	}
	return &shoppb.ReserveRequest{OrderId: order.GetOrderId(), Lines: lines}
}

// Charge returns the request to charge an order's total.
func Charge(order *shoppb.Order) *shoppb.ChargeRequest {
	return &shoppb.ChargeRequest{OrderId: order.GetOrderId(), CustomerId: order.GetCustomerId(),
		AmountCents: order.GetTotalCents()}
}

// Shipment returns the request to send an order to its customer.
func Shipment(order *shoppb.Order, customer *shoppb.Customer) *shoppb.ShipRequest {
	return &shoppb.ShipRequest{OrderId: order.GetOrderId(), Recipient: customer.GetName(),
		Address: customer.GetAddress()}
}

// Step returns the request for any other step of an order.
func Step(order *shoppb.Order) *shoppb.StepRequest {
	return &shoppb.StepRequest{OrderId: order.GetOrderId()}
}
