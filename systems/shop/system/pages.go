package system

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// readStaleness is the time from the answer to the client that changed a price until the request for a page
// that still showed the price before.
const readStaleness = "read_staleness"

// pageMetrics returns the metrics of how stale the pages of orders are.
func pageMetrics() []lab.Metric {
	share := lab.Metric{Name: "stale_reads_share", Unit: "1", Better: lab.LowerIsBetter,
		Title: "share of pages read that showed a price that had been replaced", Kind: lab.KindShare,
		Quantity: "stale_reads", Source: lab.FromSystem}
	since := loaded.Times(readStaleness, "time since that price had been replaced, of these", lab.FromSystem,
		0.99, 0.5)
	return append([]lab.Metric{share}, since...)
}

// ages returns the number of pages of the measured load that showed a price and, for each replaced price
// among these, the seconds since its replacement. A price that two changes have in common counts as the
// newer.
func ages(attempts []attempt, filled shop.Seed) (pages int, stale []float64) {
	changes := map[int64][]attempt{} // those with an answer, by product
	for _, a := range attempts {
		if a.Operation == repricing && a.End == loaded.EndedOK {
			changes[a.Noted.Product] = append(changes[a.Noted.Product], a)
		}
	}
	for _, a := range attempts {
		shown := a.Noted.shown()
		if a.Operation != paging || a.WarmUp || shown == nil {
			continue
		}
		pages++
		if age := a.Begun + a.Sent - replaced(shown, changes[shown.Product], filled); age > 0 {
			stale = append(stale, seconds(age))
		}
	}
	return pages, stale
}

// replaced returns the time at which the first client knew for sure that a price was no longer valid: far in
// the future if none did.
func replaced(shown *audit.Price, changes []attempt, filled shop.Seed) int64 {
	version := int64(0)
	if filled.Product(shown.Product).PriceCents == shown.Cents {
		version = 1
	}
	for _, c := range changes {
		if c.Noted.Price == shown.Cents {
			version = max(version, c.Noted.priced().Version)
		}
	}
	first := int64(math.MaxInt64)
	for _, c := range changes {
		if version > 0 && c.Noted.priced().Version > version {
			first = min(first, c.Begun+c.Finished)
		}
	}
	return first
}
