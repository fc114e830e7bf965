package audit

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// repricedGood is the good trial, in which product 1 costs 150 cents from 26 µs on, after
// A and B and before C, and the orders have a replica that knew it at 28 µs.
func repricedGood() Input {
	in := good()
	in.History = append(in.History, Attempt{Operation: OperationPrice, Outcome: OutcomeOK, ActualNS: 90,
		CompleteNS: 95, Price: &Price{1, 2, 150, 0}})
	in.State.Prices = []Price{{1, 2, 150, 26}}
	in.State.Products[0].PriceCents = 150
	in.State.Products[0].Version = 2
	in.State.KnownProducts = []Product{{1, "thing 1", "", 150, 2}, {2, "thing 2", "", 100, 1}}
	in.State.KnownCustomers = []Customer{{1, "Ann", "", "1 Lamp Street"}, {2, "Bob", "", "2 Lamp Street"}}
	in.Replica = &Replica{Shown: map[PriceVersion]int64{{1, 2}: 28_000}}
	in.Inboxes = map[string]Inbox{"orders": {Takes: []string{repriced},
		Had: map[string]bool{"product-1/product.repriced/2": true}}}
	return in
}

// pay makes order A cost 400 cents: product 1 twice for 150.
func pay(in *Input) {
	in.State.Orders["A"].TotalCents = 400
	in.State.Lines["A"][0].PriceCents = 150
	in.State.Payments["A"][0].AmountCents = 400
	in.State.Accounts[0].BalanceCents = 600
}

// Long because it is a table.
func TestPricesAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(in *Input)
		problem string // empty: it is valid
	}{
		"good": {func(*Input) {}, ""},
		"the new price, in time": {func(in *Input) {
			pay(in)
			in.State.Prices[0].ChangedUS = 9
		}, ""},
		"the old price, before the replica knew": {func(in *Input) {
			in.State.Prices[0].ChangedUS = 3
			in.State.Orders["A"].CreatedUS = 8
			in.Replica.Shown[PriceVersion{1, 2}] = 8_000
		}, ""},
		"a later price": {pay, "I14: order A: order_lines.unit_price_cents of product 1 is 150, when it " +
			"was taken valid were [100]"},
		"a price older than the replica's": {func(in *Input) {
			in.State.Prices[0].ChangedUS = 3
			in.State.Orders["A"].CreatedUS = 8
			in.Replica.Shown[PriceVersion{1, 2}] = 6_000
		}, "I14: order A: order_lines.unit_price_cents of product 1 is 100, when it was taken valid were [150]"},
		"a price older than the client was told": {func(in *Input) {
			in.Replica = nil
			in.State.KnownProducts = nil
			in.State.KnownCustomers = nil
			in.Inboxes = nil
			in.State.Prices[0].ChangedUS = 3
			in.State.Orders["A"].CreatedUS = 8
		}, "I14: order A: order_lines.unit_price_cents of product 1 is 100, when it was taken valid were [150]"},
		"a price that the product never had": {func(in *Input) { in.State.Lines["B"][0].PriceCents = 99 },
			"I13: order B: order_lines.unit_price_cents is 99, want 100"},
		"a change was lost": {func(in *Input) {
			in.State.KnownProducts[0].PriceCents = 100
			in.State.KnownProducts[0].Version = 1
		}, "I14: product 1: known_products.price_cents is 100, want 150"},
		"the replica is empty": {func(in *Input) { in.State.KnownProducts, in.State.KnownCustomers = nil, nil },
			"I13: known_products.product_id: there is no 1"},
		"a change was applied twice": {func(in *Input) { in.State.KnownProducts[0].Version = 3 },
			"I14: product 1: known_products.version is 3, want 2"},
		"the orders miss a change": {func(in *Input) {
			in.Inboxes["orders"].Had["product-1/product.repriced/2"] = false
		}, "I10: orders was never told product-1/product.repriced/2"},
		"the orders have a change that was not made": {func(in *Input) {
			in.Inboxes["orders"].Had["product-2/product.repriced/2"] = true
		}, `I10: orders was told "product-2/product.repriced/2", and there is no such price`},
		"a change that nobody asked for": {func(in *Input) { in.History[8].Price.Product = 2 },
			"I14: product 1: prices.price_cents is 150 in version 2, which nobody has asked for"},
		"a change that a client was told of is missing": {func(in *Input) { in.History[8].Price.Version = 3 },
			"I14: prices.product_id: there is no 1 of 150 cents in version 3, as its client was told"},
		"a version is missing": {func(in *Input) { in.State.Prices[0].Version = 3 },
			"I14: product 1: prices.version is 3, want 2"},
		"the catalog has another price": {func(in *Input) { in.State.Products[0].PriceCents = 151 },
			"I13: product 1: products.price_cents is 151, want 150"},
	} {
		t.Run(name, func(t *testing.T) {
			in := repricedGood()
			c.spoil(&in)
			expectVerdict(t, in, verdictWith(c.problem), c.problem)
		})
	}
}

// verdictWith returns the verdict on a trial with a problem: valid without one.
func verdictWith(problem string) lab.AuditVerdict {
	if problem == "" {
		return lab.AuditValid
	}
	return lab.AuditInvalid
}

// TestARejectionNamesTheTotal: an order that came to its customer's account has prices, and its reason says
// what it would have cost.
func TestARejectionNamesTheTotal(t *testing.T) {
	for name, c := range map[string]struct {
		line    Line
		total   int64
		verdict lab.AuditVerdict
	}{
		"the total":       {Line{Product: 1, Quantity: 3, PriceCents: 100, Name: "thing 1"}, 300, lab.AuditValid},
		"the price later": {Line{Product: 1, Quantity: 3, PriceCents: 150, Name: "thing 1"}, 450, lab.AuditValid},
		"another total":   {Line{Product: 1, Quantity: 3, PriceCents: 150, Name: "thing 1"}, 300, lab.AuditInvalid},
		"without a price": {Line{Product: 1, Quantity: 3}, 0, lab.AuditInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			in := repricedGood()
			in.Replica.Shown = nil
			in.State.Orders["C"].TotalCents = 3 * c.line.PriceCents
			in.State.Orders["C"].Rejection = Rejection{"declined",
				fmt.Sprintf("the balance of customer 2 does not cover %d cents", c.total)}
			in.State.Lines["C"] = []Line{c.line}
			in.History[2].Asked.Lines = []Wanted{{1, 3}}
			expectVerdict(t, in, c.verdict, "")
		})
	}
}
