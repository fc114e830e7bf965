package system

import (
	"path/filepath"

	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// attempt is a line of the generator's history: an order that a client tried to make.
type attempt = loaded.Attempt[noted]

// noted is what the workload notes of an order.
type noted struct {
	Key   string `json:"key"`
	Order string `json:"order"`
	// What was ordered: one product or two.
	Customer int64 `json:"customer,string"`
	Quantity int64 `json:"quantity,string"`
	Product  int64 `json:"product,string"`
	Left     int64 `json:"left,string"`
	Right    int64 `json:"right,string"`
}

// readAttempts reads what the generator wrote down of the creation of orders, in a trial's directory.
func readAttempts(dir string) (all []attempt, err error) {
	err = loaded.EachAttempt(filepath.Join(dir, loaded.History), func(a attempt) {
		if a.Operation == operation {
			all = append(all, a)
		}
	})
	return all, err
}

// asked is what the client ordered; nil where it was not noted.
func (n noted) asked() *audit.Asked {
	if n.Customer == 0 {
		return nil
	}
	asked := &audit.Asked{Customer: n.Customer}
	for _, product := range []int64{n.Product, n.Left, n.Right} {
		if product != 0 {
			asked.Lines = append(asked.Lines, audit.Wanted{Product: product, Quantity: n.Quantity})
		}
	}
	return asked
}

// history is that in the words of the audit, all loads on one clock.
func history(attempts []attempt) []audit.Attempt {
	all := make([]audit.Attempt, len(attempts))
	for i, a := range attempts {
		all[i] = audit.Attempt{
			ID: a.Line, Operation: audit.OperationCreate, Key: a.Noted.Key, Order: a.Noted.Order,
			Asked:      a.Noted.asked(),
			IntendedNS: a.Begun + a.Intended, ActualNS: a.Begun + a.Sent, CompleteNS: a.Begun + a.Finished,
			Outcome: audit.Outcome(a.End), Error: a.Outcome,
		}
	}
	return all
}
