package shop

import (
	"context"

	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The interfaces below are what components see of each other. For all of them
// holds:
//
//   - A call either returns an answer or an error that ProblemOf understands; the
//     kind and detail of a Problem are the same over every binding.
//   - Deadline and cancellation of the context reach the callee.
//   - A message belongs to whoever received it; who passed it on no longer
//     changes it. In one process, no copy is made.
//   - The mutating calls of Inventory, Payments and Shipping are steps: each is
//     idempotent per order, and after its compensation it is refused with Conflict.
//   - A step joins the transaction that the context carries, where there is one
//     and the component shares its database; else it commits before it answers.
//   - After Unavailable or DeadlineExceeded a call may have been carried out or
//     not; repeating it is safe.

// Catalog holds what is sold.
type Catalog interface {
	// Quote prices products, all or none: UnknownProduct names the first missing.
	Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error)
	GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error)
	// ListProducts pages through the products whose name begins with a text,
	// upper and lower case alike, in the order of their names.
	ListProducts(ctx context.Context, in *shoppb.ListProductsRequest) (*shoppb.ProductPage, error)
}

// Customers knows who buys.
type Customers interface {
	// GetCustomer fails with UnknownCustomer.
	GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error)
	// GetCustomers returns 1 to MaxPageSize customers at once, in any order. Who is
	// unknown is left out.
	GetCustomers(ctx context.Context, in *shoppb.GetCustomersRequest) (*shoppb.GetCustomersResponse, error)
}

// Inventory holds the stock.
type Inventory interface {
	// Reserve takes all lines of an order from the shelf, or none: OutOfStock.
	Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error)
	// Commit turns a reservation into a sale.
	Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	// Release is the compensation of Reserve. Without a reservation it forbids a
	// later one.
	Release(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	// Restock is the compensation of Commit: what was sold is on the shelf again.
	Restock(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
}

// Payments holds the accounts of the customers.
type Payments interface {
	// Authorise holds an amount back from the balance: Declined where it is short.
	Authorise(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error)
	// Capture takes the held amount.
	Capture(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	// Charge is Authorise and Capture in one step, for when nothing is to happen
	// between them.
	Charge(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error)
	// Void is the compensation of Authorise. Without an authorisation it forbids a
	// later one.
	Void(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	// Refund is the compensation of Capture.
	Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	// GetAccount fails with UnknownCustomer.
	GetAccount(ctx context.Context, in *shoppb.GetAccountRequest) (*shoppb.Account, error)
}

// Shipping sends orders.
type Shipping interface {
	Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error)
	// Recall is the compensation of Ship. Without a shipment it forbids a later one.
	Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error)
	GetShipment(ctx context.Context, in *shoppb.GetShipmentRequest) (*shoppb.Shipment, error)
}

// Orders is the write side of orders.
type Orders interface {
	// CreateOrder takes an order and drives it as far as the coordination does
	// before it answers: to its end, or no farther than pending. The same key with
	// the same content returns the same order; with other content KeyReused.
	//
	// An order that the rules of the shop refuse (see Rejects) is an answer and not
	// an error: it is on record as rejected, with the reason.
	CreateOrder(ctx context.Context, in *shoppb.CreateOrderRequest) (*shoppb.CreateOrderResponse, error)
	// CancelOrder undoes a confirmed order; another state is a Conflict. Repeating
	// it changes nothing.
	CancelOrder(ctx context.Context, in *shoppb.CancelOrderRequest) (*shoppb.Order, error)
}

// OrderViews is the read side of orders. It may lag behind the write side.
type OrderViews interface {
	GetOrder(ctx context.Context, in *shoppb.GetOrderRequest) (*shoppb.Order, error)
	// ListOrders pages through a customer's orders, the newest first.
	ListOrders(ctx context.Context, in *shoppb.ListOrdersRequest) (*shoppb.OrderPage, error)
}

// StockViews is the read side of the inventory. It may lag behind the write side.
type StockViews interface {
	// GetStock fails with UnknownProduct.
	GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error)
}
