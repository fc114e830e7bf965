package system

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// attempt is a line of the generator's history: an order that a client tried to
// make. Times are nanoseconds since the beginning of its load, which is Begun
// nanoseconds after 1970.
type attempt struct {
	Operation string `json:"operation"`
	End       string `json:"end"`
	Outcome   string `json:"outcome"`
	Intended  int64  `json:"intended_ns"`
	Sent      int64  `json:"sent_ns"`
	Finished  int64  `json:"finished_ns"`
	Begun     int64  `json:"begun_unix_ns"`
	WarmUp    bool   `json:"warm_up"`
	Noted     struct {
		Key   string `json:"key"`
		Order string `json:"order"`
		// What was ordered: one product or two.
		Customer int64 `json:"customer,string"`
		Quantity int64 `json:"quantity,string"`
		Product  int64 `json:"product,string"`
		Left     int64 `json:"left,string"`
		Right    int64 `json:"right,string"`
	} `json:"noted"`

	line int64
}

// readAttempts reads what the generator wrote down of the creation of orders.
func readAttempts(path string) (all []attempt, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for n := int64(1); decoder.More(); n++ {
		a := attempt{line: n}
		if err := decoder.Decode(&a); err != nil {
			return nil, fmt.Errorf("read the history, line %d: %w", n, err)
		}
		if a.Operation == operation {
			all = append(all, a)
		}
	}
	return all, nil
}

// asked is what the client ordered; nil where it was not noted.
func (a attempt) asked() *audit.Asked {
	if a.Noted.Customer == 0 {
		return nil
	}
	asked := &audit.Asked{Customer: a.Noted.Customer}
	for _, product := range []int64{a.Noted.Product, a.Noted.Left, a.Noted.Right} {
		if product != 0 {
			asked.Lines = append(asked.Lines, audit.Wanted{Product: product, Quantity: a.Noted.Quantity})
		}
	}
	return asked
}

// readHistory reads it in the words of the audit, all loads on one clock.
func readHistory(path string) ([]audit.Attempt, error) {
	attempts, err := readAttempts(path)
	all := make([]audit.Attempt, len(attempts))
	for i, a := range attempts {
		all[i] = audit.Attempt{
			ID: a.line, Operation: audit.OperationCreate, Key: a.Noted.Key, Order: a.Noted.Order, Asked: a.asked(),
			IntendedNS: a.Begun + a.Intended, ActualNS: a.Begun + a.Sent, CompleteNS: a.Begun + a.Finished,
			Outcome: audit.Outcome(a.End), Error: a.Outcome,
		}
	}
	return all, err
}
