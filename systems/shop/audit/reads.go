package audit

import (
	"slices"
	"time"
)

// Reads is the source of the prices that clients read, if it is not the catalog.
type Reads struct {
	// Replica: clients read the orders' copy of the catalog.
	Replica bool
	// Lag is the longest time that an answer may go on showing a replaced price.
	Lag time.Duration
}

// checkReads compares the prices that clients read with the prices on record: rule 12. A
// price is too old if it was replaced longer before the request than its source may lag, and
// wrong if the product never had it.
func (j *judge) checkReads() {
	var from Reads
	if j.Reads != nil {
		from = *j.Reads
	}
	known := j.answered
	if from.Replica {
		known = j.known
	}
	for _, a := range j.History {
		if a.Operation != OperationRead || a.Price == nil {
			continue
		}
		j.counts["prices_read"]++
		all := j.pricesOf(a.Price.Product)
		first := 0
		shown := func(p Price) bool { return p.Cents == a.Price.Cents }
		for i, p := range all {
			at, is := known[PriceVersion{p.Product, p.Version}]
			if is && at < a.ActualNS-int64(from.Lag+j.ClocksApart) {
				first = i
			}
		}
		switch {
		case slices.ContainsFunc(all[first:], shown):
		case slices.ContainsFunc(all, shown):
			j.breach(12, "order %s: its page showed product %d for %d cents, which was %d cents for more than %v "+
				"when it was asked for", a.Order, a.Price.Product, a.Price.Cents, all[first].Cents, from.Lag)
		default:
			j.breach(12, "order %s: its page showed product %d for %d cents, which it never cost", a.Order,
				a.Price.Product, a.Price.Cents)
		}
	}
}
