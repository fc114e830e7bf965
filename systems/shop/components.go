package shop

import (
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The components, as they see each other; shop.proto describes each call. For all of them:
//
//   - A call either returns an answer or an error that ProblemOf understands; the
//     kind and detail of a Problem are the same over every binding.
//   - Deadline and cancellation of the context reach the callee.
//   - A message belongs to its receiver; the sender no longer changes it. In one
//     process, no copy is made.
//   - The mutating calls of Inventory, Payments and Shipping are steps: each is
//     idempotent per order, and after its compensation it is refused with Conflict.
//   - A step joins the transaction that the context carries, if there is one on
//     the component's database; else it commits before it answers.
//   - After Unavailable or DeadlineExceeded a call may have been carried out or
//     not; repeating it is safe.
type (
	Catalog    = shoppb.Catalog
	Customers  = shoppb.Customers
	Inventory  = shoppb.Inventory
	Payments   = shoppb.Payments
	Shipping   = shoppb.Shipping
	Orders     = shoppb.Orders
	OrderViews = shoppb.OrderViews
	StockViews = shoppb.StockViews
)

// Parts are all components, as one unit sees them: its own, and clients of other units'.
type Parts struct {
	Catalog    Catalog
	Customers  Customers
	Inventory  Inventory
	Payments   Payments
	Shipping   Shipping
	Orders     Orders
	OrderViews OrderViews
	StockViews StockViews
}
