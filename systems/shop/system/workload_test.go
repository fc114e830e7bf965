package system

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// TestPricesChangeBeforeOrders of the same product, and the answers to the changes reach the audit.
func TestPricesChangeBeforeOrders(t *testing.T) {
	levels := map[string]float64{Orders: 100, Cancelled: 20, Repriced: 10}
	scenario := scenarioAt(t, variant(architecture.Sync, nil), levels)
	sum := 0.0
	for _, flow := range scenario.Flows {
		sum += flow.Weight
	}
	last := scenario.Flows[len(scenario.Flows)-1]
	if sum != 200 || last.Weight != 20 || len(last.Steps) != 2 || last.Steps[0].Name != repricing ||
		last.Steps[0].Request != "PUT /products/${product}/price" || last.Steps[1].Name != creating {
		t.Errorf("%+v, want ten of a hundred orders after a change of the price", scenario.Flows)
	}
	got := history([]attempt{{Operation: repricing, End: "ok",
		Noted: noted{Product: 3, Price: 250, Version: "2"}}}, architecture.FromTables)
	if got[0].Operation != audit.OperationPrice || *got[0].Price != (audit.Price{Product: 3, Version: 2,
		Cents: 250}) {
		t.Errorf("%+v, want the price in the answer", got[0])
	}
}

// TestPagesAreReadBehindOrders as often as a point says, and what they show reaches the audit.
func TestPagesAreReadBehindOrders(t *testing.T) {
	levels := map[string]float64{lab.FactorRate: 10, Cancelled: 20, Repriced: 10, Reads: 3}
	for _, flow := range scenarioAt(t, variant(architecture.Async, nil), levels).Flows {
		product := "product"
		if flow.Name == "two lines" {
			product = "left"
		}
		before := len(flow.Steps) - 3
		for _, step := range flow.Steps[before:] {
			if step.Name != paging || step.Request != "GET /orders/${order}/page" ||
				step.Expect.Status != "200, 404" || !slices.Contains(step.Note, product) {
				t.Errorf("flow %s ends with %+v, want a page read", flow.Name, step)
			}
		}
		if last := flow.Steps[before-1]; last.Name == paging || last.Think != thinkTime {
			t.Errorf("flow %s has %+v before three pages, want a pause and no fourth page", flow.Name, last)
		}
	}
	got := history([]attempt{{Operation: paging, End: "ok", Noted: noted{Order: "A", Left: 3, Shown: "250"}},
		{Operation: paging, End: "ok", Noted: noted{Order: "A", Left: 3}}}, architecture.FromDocuments)
	if got[0].Operation != audit.OperationRead || got[0].Session == "" ||
		*got[0].Price != (audit.Price{Product: 3, Cents: 250}) || got[1].Price != nil {
		t.Errorf("%+v, want what the page showed", got)
	}
}

// TestPagesAgeWhenTheirPriceIsReplaced: at 5 s and at 7 s on the client's clock another price was answered.
func TestPagesAgeWhenTheirPriceIsReplaced(t *testing.T) {
	filled := shop.Seed{Customers: 1, Products: 2, Random: 1}
	seeded := filled.Product(1).PriceCents
	price := func(cents int64, version string, at float64, end string) attempt {
		return attempt{Operation: repricing, End: end, Finished: int64(1e9 * at), WarmUp: true,
			Noted: noted{Product: 1, Price: cents, Version: version}}
	}
	changes := []attempt{price(seeded+1, "2", 5, "ok"), price(seeded+2, "3", 7, "ok"),
		price(seeded+3, "", 6, "info")}
	for name, c := range map[string]struct {
		shown string
		at    float64
		pages int
		stale []float64
	}{
		"before":                 {fmt.Sprint(seeded), 4, 1, nil},
		"the old price":          {fmt.Sprint(seeded), 8, 1, []float64{3}},
		"the one between":        {fmt.Sprint(seeded + 1), 8, 1, []float64{1}},
		"the new price":          {fmt.Sprint(seeded + 2), 8, 1, nil},
		"one of unknown outcome": {fmt.Sprint(seeded + 3), 8, 1, nil},
		"no price":               {"", 8, 0, nil},
	} {
		page := attempt{Operation: paging, End: "ok", Sent: int64(1e9 * c.at),
			Noted: noted{Product: 1, Shown: c.shown}}
		warm := page
		warm.WarmUp = true
		pages, stale := ages(append([]attempt{page, warm}, changes...), filled)
		if pages != c.pages || !slices.Equal(stale, c.stale) {
			t.Errorf("%s: %d pages, replaced for %v s, want %d and %v", name, pages, stale, c.pages, c.stale)
		}
	}
}

// TestPagesAreMeasured: of four pages two were stale.
func TestPagesAreMeasured(t *testing.T) {
	found := lab.Measured{Values: map[string]float64{}}
	(&tally{pages: 4, stale: []float64{3, 1}}).addTimes(found)
	for name, want := range map[string]float64{"stale_reads_share": 0.5, "read_staleness_p50": 1,
		"read_staleness_p99": 3} {
		near(t, name, found.Values[name], want)
	}
	found = lab.Measured{Values: map[string]float64{}}
	(&tally{}).addTimes(found)
	if len(found.Values) != 0 {
		t.Errorf("%v without a page", found.Values)
	}
}

// TestSharesOfOrders: of 100 orders 30 are cancelled and 20 repriced, also in a shop that has no two products
// for an order.
func TestSharesOfOrders(t *testing.T) {
	for _, products := range []float64{1, 100} {
		s := scenarioAt(t, lab.Variant{Architecture: architecture.Sync}, map[string]float64{lab.FactorRate: 1,
			Products: products, Cancelled: 30, Repriced: 20})
		all := 0.0
		of := map[string]float64{}
		for _, flow := range s.Flows {
			all += flow.Weight
			of[flow.Name] = flow.Weight
		}
		if 10*of["regretted"] != 3*all || 10*of["repriced"] != 2*all {
			t.Errorf("%g products: weights %v", products, of)
		}
	}
}
