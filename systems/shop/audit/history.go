package audit

import (
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Outcome is a client's knowledge after an attempt.
type Outcome string

// The outcomes of an attempt.
const (
	OutcomeOK   Outcome = "ok"   // carried out
	OutcomeFail Outcome = "fail" // refused: not carried out
	OutcomeInfo Outcome = "info" // timed out or cut off: carried out or not
)

// The operations of a history. Others are not judged.
const (
	OperationCreate = "create"
	OperationCancel = "cancel"
	OperationRead   = "read"
	OperationPrice  = "price"
)

// Attempt is one line of a history. Times are those of one clock, the client's; see Input.UnixClock.
type Attempt struct {
	Operation string
	Key       string // idempotency key, create only
	Asked     *Asked // create only
	// Price is the requested price, with the version in the answer; in a read, the price that the answer showed.
	Price *Price
	// Session names the reader of a state: within a session the state of an order never goes back.
	Session    string
	ActualNS   int64 // sent
	CompleteNS int64 // answered or given up
	Outcome    Outcome
	// What the answer said, where there was one.
	Order   string
	State   shop.State
	Version int64
}

// Asked is the order that a client asked for, named as in the body of its request.
type Asked struct {
	Customer int64    `json:"customerId"`
	Lines    []Wanted `json:"lines"`
}

// Wanted is a line of such an order.
type Wanted struct {
	Product  int64 `json:"productId"`
	Quantity int64 `json:"quantity"`
}

// AskedBy returns the order of a request.
func AskedBy(in *shoppb.CreateOrderRequest) *Asked {
	asked := &Asked{Customer: in.GetCustomerId()}
	for _, line := range in.GetLines() {
		asked.Lines = append(asked.Lines, Wanted{line.GetProductId(), line.GetQuantity()})
	}
	return asked
}
