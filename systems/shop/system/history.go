package system

import (
	"cmp"
	"strconv"

	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// attempt is a line of the generator's history: what a client tried to do with an order.
type attempt = loaded.Attempt[noted]

// noted is the workload's note of an order.
type noted struct {
	Key   string `json:"key"`
	Order string `json:"order"`
	// The order: one product or two.
	Customer int64 `json:"customer,string"`
	Quantity int64 `json:"quantity,string"`
	Product  int64 `json:"product,string"`
	Left     int64 `json:"left,string"`
	Right    int64 `json:"right,string"`
	// State is that of the order in the answer; empty: the answer has no order.
	State shop.State `json:"state"`
	// The new price of a product, and its version in the answer.
	Price   int64  `json:"price,string"`
	Version string `json:"version"`
	// Shown is the price of its first product on the page of the order; empty: none.
	Shown string `json:"shown"`
}

// readAttempts reads the generator's history in a trial's directory.
func readAttempts(dir string) (all []attempt, err error) {
	err = loaded.EachAttempt(dir, func(a attempt) { all = append(all, a) })
	return all, err
}

// asked returns the client's order; nil: none was noted.
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

// priced returns the price that the client gave a product; nil: none was noted.
func (n noted) priced() *audit.Price {
	if n.Price == 0 {
		return nil
	}
	version, _ := strconv.ParseInt(n.Version, 10, 64) // without an answer there is none
	return &audit.Price{Product: n.Product, Version: version, Cents: n.Price}
}

// shown returns the price of the first product on the page of an order; nil: none was noted.
func (n noted) shown() *audit.Price {
	cents, err := strconv.ParseInt(n.Shown, 10, 64)
	if err != nil {
		return nil
	}
	return &audit.Price{Product: cmp.Or(n.Product, n.Left), Cents: cents}
}

// history translates attempts for the audit, all loads on one clock. Read models may lag behind
// the answers of the components: reads from them are a session of their own.
func history(attempts []attempt, views architecture.Views) []audit.Attempt {
	all := make([]audit.Attempt, len(attempts))
	for i, a := range attempts {
		all[i] = audit.Attempt{
			Order: a.Noted.Order, State: a.Noted.State, Outcome: audit.Outcome(a.End),
			ActualNS: a.Begun + a.Sent, CompleteNS: a.Begun + a.Finished,
		}
		switch a.Operation {
		case creating:
			all[i].Operation = audit.OperationCreate
			all[i].Key = a.Noted.Key
			all[i].Asked = a.Noted.asked()
		case cancelling:
			all[i].Operation = audit.OperationCancel
		case repricing:
			all[i].Operation = audit.OperationPrice
			all[i].Price = a.Noted.priced()
		case reading, paging:
			all[i].Operation = audit.OperationRead
			all[i].Price = a.Noted.shown()
			if views == architecture.FromDocuments {
				all[i].Session = "read models"
			}
		}
	}
	return all
}
