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
	OperationFault  = "fault" // something was broken on purpose
)

// Attempt is one line of a history. Times are those of one clock, the client's; see Input.UnixClock.
type Attempt struct {
	ID        int64  `json:"id"`
	Operation string `json:"op"`
	Key       string `json:"key,omitempty"`   // idempotency key, create only
	Asked     *Asked `json:"asked,omitempty"` // create only
	// Price is the price that was asked for, with the version of the answer; of a read what the answer showed.
	Price *Price `json:"price,omitempty"`
	// Session names who reads in turn: within one, orders do not go back in time.
	Session    string  `json:"session,omitempty"`
	IntendedNS int64   `json:"intended_ns"`
	ActualNS   int64   `json:"actual_ns"`   // sent
	CompleteNS int64   `json:"complete_ns"` // answered or given up
	Outcome    Outcome `json:"outcome"`
	// What the answer said, where there was one.
	Order   string     `json:"order,omitempty"`
	State   shop.State `json:"state,omitempty"`
	Version int64      `json:"version,omitempty"`
	Status  int        `json:"status,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// Asked is the order that a client asked for.
type Asked struct {
	Customer int64    `json:"customerId"`
	Lines    []Wanted `json:"lines"`
}

// Wanted is a line of it.
type Wanted struct {
	Product  int64 `json:"productId"`
	Quantity int64 `json:"quantity"`
}

// AskedBy returns what a request asks for.
func AskedBy(in *shoppb.CreateOrderRequest) *Asked {
	asked := &Asked{Customer: in.GetCustomerId()}
	for _, line := range in.GetLines() {
		asked.Lines = append(asked.Lines, Wanted{line.GetProductId(), line.GetQuantity()})
	}
	return asked
}
