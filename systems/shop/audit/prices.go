package audit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Replica holds the observations of the orders' copy of the catalog.
type Replica struct {
	// Shown holds the times from which the copy certainly had a price, in nanoseconds since 1970; nil: it was
	// not observed.
	Shown map[PriceVersion]int64
}

// PriceVersion names a price of a product.
type PriceVersion struct{ Product, Version int64 }

// indexPrices sorts the prices of each product, and notes from when on orders must know
// them: the replica had them, or the client that changed them had its answer.
func (j *judge) indexPrices() {
	j.prices = map[int64][]Price{}
	j.answered = map[PriceVersion]int64{}
	for _, p := range j.State.Prices {
		j.prices[p.Product] = append(j.pricesOf(p.Product), p)
	}
	for _, a := range j.repricings() {
		if of := (PriceVersion{a.Price.Product, a.Price.Version}); a.Outcome == OutcomeOK {
			if at, twice := j.answered[of]; !twice || a.CompleteNS < at {
				j.answered[of] = a.CompleteNS
			}
		}
	}
	j.known = j.answered
	if j.Replica != nil {
		j.known = j.Replica.Shown
	}
}

// pricesOf returns all prices of a product in their order.
func (j *judge) pricesOf(product int64) []Price {
	if all := j.prices[product]; all != nil {
		return all
	}
	return []Price{{Product: product, Version: 1, Cents: j.Fresh.Product(product).PriceCents}}
}

// repricings returns the attempts to change prices that may have been carried out.
func (j *judge) repricings() (all []Attempt) {
	for _, a := range j.History {
		if a.Operation == OperationPrice && a.Outcome != OutcomeFail && a.Price != nil {
			all = append(all, a)
		}
	}
	return all
}

// checkPrices compares the prices on record with the requests of clients: rule 14.
func (j *judge) checkPrices() {
	j.counts["price_changes"] = int64(len(j.State.Prices))
	asked := map[[2]int64][]Attempt{} // by product and price
	for _, a := range j.repricings() {
		of := [2]int64{a.Price.Product, a.Price.Cents}
		asked[of] = append(asked[of], a)
		all := j.pricesOf(a.Price.Product)
		there := a.Price.Version >= 1 && a.Price.Version <= int64(len(all)) &&
			all[a.Price.Version-1].Cents == a.Price.Cents
		if a.Outcome == OutcomeOK && !there {
			j.breach(14, "prices.product_id: there is no %d of %d cents in version %d, as its client was told",
				a.Price.Product, a.Price.Cents, a.Price.Version)
		}
	}
	next := map[int64]int64{}
	for _, p := range j.State.Prices {
		whose := "product " + strconv.FormatInt(p.Product, 10)
		next[p.Product]++
		j.compare(14, whose, "prices.version", p.Version, next[p.Product]+1)
		if p.Product < 1 || p.Product > j.Seed.Products {
			j.breach(14, "prices.product_id: there is no %d", p.Product)
		}
		requests := asked[[2]int64{p.Product, p.Cents}]
		inTime := func(a Attempt) bool { return j.during(a, p.ChangedUS) }
		if len(requests) == 0 {
			j.breach(14, "%s: prices.price_cents is %d in version %d, which nobody has asked for", whose, p.Cents,
				p.Version)
		} else if j.UnixClock && !slices.ContainsFunc(requests, inTime) {
			j.breach(14, "%s: prices.changed_us is %d in version %d, when nobody asked for it", whose, p.ChangedUS,
				p.Version)
		}
	}
}

// during reports whether a time on record may lie within an attempt.
func (j *judge) during(a Attempt, atUS int64) bool {
	slack := int64(clockSlack + j.ClocksApart)
	at := atUS * int64(time.Microsecond)
	if at < a.ActualNS-slack {
		return false
	}
	return a.Outcome != OutcomeOK || at <= a.CompleteNS+slack
}

// checkLast compares a product's price in a table with its last price: in the catalog,
// rule 13, and in a replica that has got all changes, rule 14.
func (j *judge) checkLast(whose, table string, p Product) {
	rule := 13
	if table != "products" {
		if rule = 14; !j.Drained {
			return
		}
	}
	all := j.pricesOf(p.ID)
	j.compare(rule, whose, table+".price_cents", p.PriceCents, all[len(all)-1].Cents)
	j.compare(rule, whose, table+".version", p.Version, int64(len(all)))
}

// candidates returns the prices that an order may have for a product: the prices that were
// valid when it was priced, or that the replica still had then. It was priced after its
// creation and before it was first written down.
func (j *judge) candidates(order *Order, product int64) []Price {
	all := j.pricesOf(product)
	if !j.UnixClock {
		return all
	}
	first := 0
	last := len(all)
	apart := j.ClocksApart.Microseconds()
	written, err := readJournal(order.Journal)
	wasWritten := err == nil && len(written) > 0
	for i, p := range all {
		at, known := j.known[PriceVersion{product, p.Version}]
		if known && at/1000+1 < order.CreatedUS-apart { // a microsecond that has begun counts
			first = i
		}
		if wasWritten && p.ChangedUS > written[0].atUS+apart {
			last = min(last, i)
		}
	}
	return all[min(first, last):last]
}

// checkPriceOf judges the price in a line: rule 14, or 13 if the product never had it.
func (j *judge) checkPriceOf(order *Order, line Line) {
	costs := func(p Price) bool { return p.Cents == line.PriceCents }
	all := j.pricesOf(line.Product)
	may := j.candidates(order, line.Product)
	switch {
	case slices.ContainsFunc(may, costs):
	case slices.ContainsFunc(all, costs):
		j.breach(14, "order %s: order_lines.unit_price_cents of product %d is %d, when it was taken valid were %v",
			order.ID, line.Product, line.PriceCents, each(may, func(p Price) int64 { return p.Cents }))
	default:
		j.checkColumn("order "+order.ID, "order_lines.unit_price_cents", line.PriceCents, all[0].Cents)
	}
}

// checkPriceMessages compares the prices in an inbox with the prices on record: rule 10.
func (j *judge) checkPriceMessages(consumer string, inbox Inbox) {
	want := map[string]bool{}
	if slices.Contains(inbox.Takes, repriced) {
		for _, p := range j.State.Prices {
			want[fmt.Sprintf("product-%d/%s/%d", p.Product, repriced, p.Version)] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if !inbox.Had[id] {
			j.counts["zombies"]++
			j.breach(10, "%s was never told %s", consumer, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(inbox.Had)) {
		if strings.Contains(id, "/"+repriced) && !want[id] {
			j.counts["ghosts"]++
			j.breach(10, "%s was told %q, and there is no such price", consumer, id)
		}
	}
}
