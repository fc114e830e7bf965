package orders

import (
	"context"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Tables are the tables of the orders. BySQL implements them in SQL, package mapped by an ORM.
type Tables interface {
	// Rows are Orders. Insert skips those whose id or key is there. Move takes the values of the columns
	// rejection_kind, rejection_detail and lease_until_us, and makes a new version.
	steps.Rows
	// InsertLines writes the lines of new orders.
	InsertLines(ctx context.Context, lines []OrderLine) error
	// Arrive writes the final state of orders that still have the known lease, and ends it.
	Arrive(ctx context.Context, all []Underway, to shop.State) (moved int64, err error)
	// Leases returns the leases of orders, and locks their rows. Orders without a lease are left out.
	Leases(ctx context.Context, orders []string) (map[string]int64, error)
	// Change changes the row of an order that still has the known lease and state.
	Change(ctx context.Context, u Underway, change Change) (changed int64, err error)
	// Hold gives a lease to an order in a state, unless it has one.
	Hold(ctx context.Context, id string, in shop.State, lease int64) (held int64, err error)
	// Standing returns the state of an order, empty if it is not on record, and its lease, 0 if it has none.
	Standing(ctx context.Context, id string) (Underway, error)
	// Abandoned returns up to limit orders whose leases ended before now, the earliest end first.
	Abandoned(ctx context.Context, now int64, limit int) ([]Underway, error)
	// ByID and ByKey return the only order of an id or a key, or none.
	ByID(ctx context.Context, id string) ([]*shoppb.Order, error)
	ByKey(ctx context.Context, key string) ([]*shoppb.Order, error)
	// OfCustomer returns up to limit orders of a customer whose ids are less than before, the newest first.
	OfCustomer(ctx context.Context, customer int64, before string, limit int) ([]*shoppb.Order, error)
}

// Order is a row of the table orders.
type Order struct {
	OrderID         string `gorm:"primaryKey"`
	IdempotencyKey  string
	CustomerID      int64
	TotalCents      int64
	State           string
	RejectionKind   string
	RejectionDetail string
	Version         int64
	CreatedUnixUs   int64
	LeaseUntilUs    *int64
	Journal         string
	Lines           []OrderLine `gorm:"foreignKey:OrderID;references:OrderID"`
}

// row returns the row of a new order.
func row(begun Beginning) Order {
	order := begun.Order
	why := begun.Order.GetRejection()
	r := Order{
		OrderID: order.GetOrderId(), IdempotencyKey: order.GetIdempotencyKey(), CustomerID: order.GetCustomerId(),
		TotalCents: order.GetTotalCents(), State: order.GetState(), RejectionKind: why.GetKind(),
		RejectionDetail: why.GetDetail(), Version: order.GetVersion(), CreatedUnixUs: order.GetCreatedUnixUs(),
		Journal: steps.Entry(order.GetState()),
	}
	if begun.Lease != 0 {
		r.LeaseUntilUs = &begun.Lease
	}
	return r
}

// Values implements steps.Row.
func (o Order) Values(to []any) []any {
	var lease any
	if o.LeaseUntilUs != nil {
		lease = *o.LeaseUntilUs
	}
	return append(to, o.OrderID, o.IdempotencyKey, o.CustomerID, o.TotalCents, o.State, o.RejectionKind,
		o.RejectionDetail, o.Version, o.CreatedUnixUs, lease, o.Journal)
}

// Message returns the order as other components get it: without its lease and journal.
func (o Order) Message() *shoppb.Order {
	message := &shoppb.Order{OrderId: o.OrderID, IdempotencyKey: o.IdempotencyKey, CustomerId: o.CustomerID,
		TotalCents: o.TotalCents, State: o.State, Version: o.Version, CreatedUnixUs: o.CreatedUnixUs}
	if o.State == string(shop.StateRejected) {
		message.Rejection = &shoppb.Rejection{Kind: o.RejectionKind, Detail: o.RejectionDetail}
	}
	for _, line := range o.Lines {
		message.Lines = append(message.Lines, &shoppb.OrderLine{ProductId: line.ProductID, Name: line.Name,
			Quantity: line.Quantity, UnitPriceCents: line.UnitPriceCents})
	}
	return message
}

// Underway returns the state of work on an order.
func (o Order) Underway() Underway {
	u := Underway{Order: o.OrderID, State: shop.State(o.State)}
	if o.LeaseUntilUs != nil {
		u.Lease = *o.LeaseUntilUs
	}
	if o.RejectionKind != "" {
		u.Reason = &shoppb.Rejection{Kind: o.RejectionKind, Detail: o.RejectionDetail}
	}
	return u
}

// OrderLine is a row of the table order_lines.
type OrderLine struct {
	OrderID        string `gorm:"primaryKey"`
	Line           int    `gorm:"primaryKey"`
	ProductID      int64
	Name           string
	Quantity       int64
	UnitPriceCents int64
}

// Change is a change of an order's row.
type Change struct {
	Columns    []Column
	NewVersion bool   // whether the order gets a new version
	Entry      string // added to the journal; may be empty
}

// Column is a column with its new value.
type Column struct {
	Name  string
	Value any
}

// Columns of an order that Move and Change set.
const (
	columnState  = "state"
	columnLease  = "lease_until_us"
	columnKind   = "rejection_kind"
	columnDetail = "rejection_detail"
)

// rejectionColumns returns the columns with the reason of a rejection, empty without one.
func rejectionColumns(reason *shoppb.Rejection) []Column {
	return []Column{{columnKind, reason.GetKind()}, {columnDetail, reason.GetDetail()}}
}
