package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Outcome is what a client knows after an attempt.
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
	OperationFault  = "fault" // something was broken on purpose
)

// Attempt is one line of a history. Times run on one monotonic clock.
type Attempt struct {
	ID        int64  `json:"id"`
	Operation string `json:"op"`
	Key       string `json:"key,omitempty"`   // idempotency key, create only
	Asked     *Asked `json:"asked,omitempty"` // create only
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

// AskedBy is what a request asks for.
func AskedBy(in *shoppb.CreateOrderRequest) *Asked {
	asked := &Asked{Customer: in.GetCustomerId()}
	for _, line := range in.GetLines() {
		asked.Lines = append(asked.Lines, Wanted{line.GetProductId(), line.GetQuantity()})
	}
	return asked
}

// check refuses a line that a history cannot have.
func (a Attempt) check() error {
	switch a.Outcome {
	case OutcomeOK, OutcomeFail, OutcomeInfo:
	default:
		if a.Operation != OperationFault {
			return fmt.Errorf("outcome %q, use ok, fail or info", a.Outcome)
		}
	}
	if a.Operation == OperationCreate && a.Key == "" {
		return errors.New("a create without its key")
	}
	if a.State != "" && !a.State.Known() {
		return fmt.Errorf("there is no state %q", a.State)
	}
	return nil
}

// maxLine bounds one line of a history, in bytes.
const maxLine = 1 << 20

// ReadHistory reads JSON lines.
func ReadHistory(from io.Reader) ([]Attempt, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var all []Attempt
	for number := 1; lines.Scan(); number++ {
		var attempt Attempt
		if err := json.Unmarshal(lines.Bytes(), &attempt); err != nil {
			return nil, fmt.Errorf("history, line %d: %w", number, err)
		}
		if err := attempt.check(); err != nil {
			return nil, fmt.Errorf("history, line %d: %w", number, err)
		}
		all = append(all, attempt)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return all, nil
}

// WriteHistory writes JSON lines.
func WriteHistory(to io.Writer, history []Attempt) error {
	buffered := bufio.NewWriter(to)
	encoder := json.NewEncoder(buffered)
	for _, attempt := range history {
		if err := encoder.Encode(attempt); err != nil {
			return fmt.Errorf("write attempt %d of the history: %w", attempt.ID, err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}
