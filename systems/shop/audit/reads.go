package audit

import (
	"slices"
	"time"
)

// Reads say what clients are shown of prices when they do not ask the owner.
type Reads struct {
	// Replica says that the orders' copy of the catalog is read: what it has, it shows.
	Replica bool
	// Lag is how long an answer may show what was replaced.
	Lag time.Duration
}

// checkReads holds the prices that clients were shown against those on record: rule 12. A
// price that was replaced longer before it was asked for than its source may lag is too old,
// and one that the product never had is somebody else's.
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
		all, first := j.pricesOf(a.Price.Product), 0
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
