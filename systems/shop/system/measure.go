package system

import (
	"context"
	"errors"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// metrics of the shop, the headline first. docs/shop.md defines them.
func metrics() []lab.Metric {
	perOrder := func(quantity, title, unit, phrase string) lab.Metric {
		return lab.Metric{Name: quantity + "_per_order", Title: title, Unit: unit, Better: lab.LowerIsBetter,
			Kind: lab.KindCount, Quantity: quantity, Per: lab.PerOperation, Source: lab.FromSystem, Phrase: phrase}
	}
	return append([]lab.Metric{
		{Name: "completion_time_p99", Unit: "s", Better: lab.LowerIsBetter,
			Title: "99th percentile of the time from intended start to final order",
			Kind:  lab.KindTime, Quantity: lab.CompletionTime, Quantile: 0.99, Source: lab.FromSystem, Clocks: true},
		{Name: "capacity", Unit: "1/s", Better: lab.HigherIsBetter,
			Title: "highest rate of orders that meets the objective",
			Kind:  lab.KindRate, Quantity: lab.Capacity, Source: lab.FromGenerator},
		{Name: "cpu_per_operation", Unit: "s", Better: lab.LowerIsBetter,
			Title: "CPU time of shop and backing services per completed order",
			Kind:  lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation, Phrase: "CPU", Source: lab.FromMeter},
		{Name: "completion_time_p50", Unit: "s", Better: lab.LowerIsBetter,
			Title: "median time from intended start to final order",
			Kind:  lab.KindTime, Quantity: lab.CompletionTime, Quantile: 0.5, Source: lab.FromSystem, Clocks: true},
		{Name: "response_time_p99", Unit: "s", Better: lab.LowerIsBetter,
			Title: "99th percentile of the time to the answer (async answers on acceptance)",
			Kind:  lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.99, Source: lab.FromGenerator},
		{Name: "response_time_p50", Unit: "s", Better: lab.LowerIsBetter,
			Title: "median time to the answer (async answers on acceptance)",
			Kind:  lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.5, Source: lab.FromGenerator},
		{Name: "response_time_mean", Unit: "s", Better: lab.LowerIsBetter,
			Title: "mean time to the answer (async answers on acceptance)",
			Kind:  lab.KindTime, Quantity: lab.ResponseTime, Source: lab.FromGenerator},
		{Name: "staleness_p99", Unit: "s", Better: lab.LowerIsBetter,
			Title: "99th percentile of the lag of read models behind changes",
			Kind:  lab.KindTime, Quantity: lab.Staleness, Quantile: 0.99, Source: lab.FromSystem, Clocks: true},
		{Name: "staleness_p50", Unit: "s", Better: lab.LowerIsBetter,
			Title: "median lag of read models behind changes",
			Kind:  lab.KindTime, Quantity: lab.Staleness, Quantile: 0.5, Source: lab.FromSystem, Clocks: true},
		{Name: "completed_rate", Unit: "1/s", Better: lab.HigherIsBetter,
			Title: "orders per second that became final",
			Kind:  lab.KindRate, Quantity: lab.CompletedRate, Source: lab.FromSystem},
		{Name: "goodput", Unit: "1/s", Better: lab.HigherIsBetter,
			Title: "orders per second that were answered rightly and became final",
			Kind:  lab.KindRate, Quantity: "goodput", Source: lab.FromGenerator},
		{Name: "achieved_share", Unit: "1", Better: lab.HigherIsBetter,
			Title: "share of the offered orders that were begun in time",
			Kind:  lab.KindShare, Quantity: lab.Achieved, Source: lab.FromGenerator},
		{Name: "unfinished_share", Unit: "1", Better: lab.LowerIsBetter,
			Title: "share of accepted orders that were not final when the load ended",
			Kind:  lab.KindShare, Quantity: lab.Unfinished, Source: lab.FromSystem},
		{Name: "error_share", Unit: "1", Better: lab.LowerIsBetter,
			Title: "share of operations that were not answered rightly",
			Kind:  lab.KindShare, Quantity: "error", Source: lab.FromGenerator},
		perOrder("statements", "SQL statements per completed order", "1", "statements"),
		perOrder("rows", "rows read or changed per completed order", "1", ""),
		perOrder("commits", "commits that changed rows, per completed order", "1", ""),
		perOrder("syncs", "fsyncs of the database server per completed order", "1", "fsyncs"),
		perOrder("messages", "messages published per completed order", "1", "messages"),
		perOrder("deliveries", "messages delivered per completed order", "1", ""),
		perOrder("bytes", "bytes between units (calls and message bodies) per completed order", "B", ""),
		{Name: "peak_memory", Unit: "B", Better: lab.LowerIsBetter,
			Title: "peak memory of shop and backing services, the sum over all",
			Kind:  lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter},
	}, loaded.ClientMetrics()...)
}

// Measure implements lab.Measurer. All but the generator is the shop's cost. A
// search plays many loads: only its capacity counts.
func (s System) Measure(
	ctx context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	load, err := s.base().Report(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	found := loaded.Measured(metrics(), p, load)
	if loaded.Searches(p) {
		return found, nil
	}
	orders, err := reckon(ctx, v, left)
	if err = errors.Join(err, loaded.AddOutage(found, left)); err != nil {
		return found, err
	}
	orders.times(found)
	orders.pace(found.Values, p, load)
	if err := orders.costs(ctx, v, found.Values, metered, left); err != nil {
		return found, err
	}
	// the report of a unit that was killed tells of its last life only
	if len(left.Faults) == 0 && orders.all > 0 {
		if found.Traffic, err = traffic(left.Reports, orders.all); err != nil {
			return found, err
		}
	}
	found.Paths, err = paths(left.Dir, orders.final)
	return found, errors.Join(err, s.keepSpans(v, p, left.Dir))
}

// reckon counts what became of the orders. The databases are asked only for the ids
// of orders whose clients were not told them.
func reckon(ctx context.Context, v lab.Variant, left lab.Leftover) (t tally, err error) {
	attempts, err := readAttempts(left.Dir)
	if err != nil {
		return t, err
	}
	t, err = count(attempts, left.Dir, nil)
	if err != nil || t.unknown == 0 {
		return t, err
	}
	databases, err := openAll(ctx, v, left.Addresses[assembly.ServiceDatabase])
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, databases.close()) }()
	ids, err := idsByKey(ctx, databases)
	if err != nil {
		return t, err
	}
	return count(attempts, left.Dir, ids)
}

// times adds how long orders took and how far read models lagged behind.
func (t *tally) times(found lab.Measured) {
	for quantity, values := range map[string][]float64{lab.CompletionTime: t.completions(),
		lab.Staleness: t.staleness()} {
		if len(values) == 0 {
			continue
		}
		found.Spectra[quantity] = spectrum(values)
		found.Values[quantity+"_p50"] = loaded.Percentile(values, 0.5)
		found.Values[quantity+"_p99"] = loaded.Percentile(values, 0.99)
	}
}

// pace adds how many orders became final in which time.
func (t *tally) pace(values map[string]float64, p lab.Point, load lab.LoadReport) {
	window := 0.0
	if loaded.Paced(p) {
		window = load.Duration
	}
	values["completed_rate"], values["goodput"] = t.rates(window)
	if _, counted := p.Level(Orders); !counted && t.accepted > 0 {
		values["unfinished_share"] = t.openAt(load.Duration)
	}
}
