package system

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// metrics returns the metrics of the shop, the headline first. docs/shop.md defines them.
func metrics() []lab.Metric {
	words := loaded.Words{Operations: "operations", Flows: "orders", Cost: "shop and backing services",
		Per: "completed order", Response: "time to the answer (async answers on acceptance)"}
	times := func(quantity, title string, at ...float64) []lab.Metric {
		all := loaded.Times(quantity, title, lab.FromSystem, at...)
		for i := range all {
			all[i].Clocks = true
		}
		return all
	}
	perOrder := func(quantity, title, unit, phrase string) lab.Metric {
		return lab.Metric{Name: quantity + "_per_order", Title: title, Unit: unit, Better: lab.LowerIsBetter,
			Kind: lab.KindCount, Quantity: quantity, Per: lab.PerOperation, Source: lab.FromSystem, Phrase: phrase}
	}
	completion := times(lab.CompletionTime, "time from intended start to final order", 0.99, 0.5)
	goodput := words.Goodput()
	goodput.Title = "orders per second that were answered rightly and became final"
	all := []lab.Metric{completion[0], words.Capacity(), words.CPU(), completion[1]}
	all = append(all, words.ResponseTimes(0.99, 0.5, 0)...)
	all = append(all, times(lab.Staleness, "lag of read models behind changes", 0.99, 0.5)...)
	all = append(all, times(lab.ReferenceStaleness, "lag of the orders' replica behind the catalog", 0.99,
		0.5)...)
	all = append(all, pageMetrics()...)
	all = append(all,
		lab.Metric{Name: "completed_rate", Unit: "1/s", Better: lab.HigherIsBetter,
			Title: "orders per second that became final",
			Kind:  lab.KindRate, Quantity: lab.CompletedRate, Source: lab.FromSystem},
		goodput, words.AchievedShare(),
		lab.Metric{Name: "unfinished_share", Unit: "1", Better: lab.LowerIsBetter,
			Title: "share of accepted orders that were not final when the load ended",
			Kind:  lab.KindShare, Quantity: lab.Unfinished, Source: lab.FromSystem},
		words.Errors(),
		perOrder("statements", "SQL statements per completed order", "1", "statements"),
		perOrder("rows", "rows read or changed per completed order", "1", ""),
		perOrder("commits", "commits that changed rows, per completed order", "1", ""),
		perOrder("syncs", "fsyncs of the database server per completed order", "1", "fsyncs"),
		perOrder("messages", "messages published per completed order", "1", "messages"),
		perOrder("deliveries", "messages delivered per completed order", "1", ""),
		kit.Amplification(),
		perOrder("bytes", "bytes between units (calls and message bodies) per completed order", "B", ""),
		words.PeakMemory())
	return append(all, loaded.ClientMetrics()...)
}

// Profiling implements lab.Profiled.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/shop"}}
}

// Measure implements lab.Measurer. All but the generator is the shop's cost. A
// search plays many loads: only its capacity counts.
func (s System) Measure(
	ctx context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, load, err := s.base().Measure(metrics(), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	orders, err := tallyOf(ctx, v, p, left)
	if err != nil {
		return found, err
	}
	orders.addTimes(found)
	orders.addRates(found.Values, p, load)
	if err := orders.addCosts(ctx, v, found.Values, metered, left); err != nil {
		return found, err
	}
	// The report of a unit that was killed covers only the time since its restart.
	if len(left.Faults) == 0 && orders.all > 0 {
		if found.Traffic, err = traffic(left.Reports, orders.all); err != nil {
			return found, err
		}
	}
	found.Paths, err = paths(left.Dir, orders.final)
	return found, errors.Join(err, hosting.KeepSpans(s.Spans, v, p, left.Dir))
}

// tallyOf returns the tally of a trial. It asks the databases only for the ids of orders
// whose clients had no answer.
func tallyOf(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) (tally, error) {
	attempts, err := readAttempts(left.Dir)
	if err != nil {
		return tally{}, err
	}
	t, err := newTally(attempts, left.Dir, nil)
	if err == nil && t.unknown > 0 {
		var ids map[string]string
		if ids, err = idsByKey(ctx, v, left); err == nil {
			t, err = newTally(attempts, left.Dir, ids)
		}
	}
	t.pages, t.stale = ages(attempts, seed(p, left.Seed))
	return t, err
}

// addTimes adds the times of orders to completion, the lags of read models, and the ages of replaced prices
// on pages.
func (t *tally) addTimes(found lab.Measured) {
	for quantity, values := range map[string][]float64{lab.CompletionTime: t.completions(),
		lab.Staleness: staleness(t.showings), lab.ReferenceStaleness: staleness(t.replicated),
	} {
		if len(values) == 0 {
			continue
		}
		found.Spectra[quantity] = spectrum(values)
		found.Values[quantity+"_p50"] = loaded.Percentile(values, 0.5)
		found.Values[quantity+"_p99"] = loaded.Percentile(values, 0.99)
	}
	if t.pages > 0 {
		found.Values["stale_reads_share"] = float64(len(t.stale)) / float64(t.pages)
	}
	if len(t.stale) > 0 {
		slices.Sort(t.stale)
		found.Values[readStaleness+"_p50"] = loaded.Percentile(t.stale, 0.5)
		found.Values[readStaleness+"_p99"] = loaded.Percentile(t.stale, 0.99)
	}
}

// addRates sets the rates at which orders became final, if they are known, and the share that had not when
// the load ended.
func (t *tally) addRates(values map[string]float64, p lab.Point, load lab.LoadReport) {
	window := 0.0
	if _, paced := p.Rate(); paced {
		window = load.Duration
	}
	delete(values, lab.Goodput) // the generator's does not wait until orders are final
	if completed, good, known := t.rates(window); known {
		values["completed_rate"] = completed
		values[lab.Goodput] = good
	}
	if _, counted := p.Level(Orders); !counted && t.accepted > 0 {
		values["unfinished_share"] = t.openAt(load.Duration)
	}
}
