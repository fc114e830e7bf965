package system

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// metrics of the shop, the headline first. docs/shop.md defines them.
func metrics() []lab.Metric {
	lower := func(name, title, unit string) lab.Metric {
		return lab.Metric{Name: name, Title: title, Unit: unit, Better: lab.LowerIsBetter}
	}
	higher := func(name, title, unit string) lab.Metric {
		return lab.Metric{Name: name, Title: title, Unit: unit, Better: lab.HigherIsBetter}
	}
	return []lab.Metric{
		lower("completion_time_p99", "99th percentile of the time from intended start to final order", "s"),
		higher("capacity", "highest rate of orders that meets the objective", "1/s"),
		lower("cpu_per_operation", "CPU time of shop and backing services per completed order", "s"),
		lower("completion_time_p50", "median time from intended start to final order", "s"),
		lower("response_time_p99", "99th percentile of the time to the answer (async answers on acceptance)", "s"),
		lower("response_time_p50", "median time to the answer (async answers on acceptance)", "s"),
		lower("response_time_mean", "mean time to the answer (async answers on acceptance)", "s"),
		lower("staleness_p99", "99th percentile of the lag of read models behind changes", "s"),
		lower("staleness_p50", "median lag of read models behind changes", "s"),
		higher("completed_rate", "orders per second that became final", "1/s"),
		higher("goodput", "orders per second that were answered rightly and became final", "1/s"),
		higher("achieved_share", "share of the offered orders that were begun in time", "1"),
		lower("unfinished_share", "share of accepted orders that were not final when the load ended", "1"),
		lower("error_share", "share of operations that were not answered rightly", "1"),
		lower("statements_per_order", "SQL statements per completed order", "1"),
		lower("rows_per_order", "rows read or changed per completed order", "1"),
		lower("commits_per_order", "commits that changed rows, per completed order", "1"),
		lower("syncs_per_order", "fsyncs of the database server per completed order", "1"),
		lower("messages_per_order", "messages published per completed order", "1"),
		lower("deliveries_per_order", "messages delivered per completed order", "1"),
		lower("bytes_per_order", "bytes between units (calls and message bodies) per completed order", "B"),
		lower("peak_memory", "peak memory of shop and backing services, the sum over all", "B"),
	}
}

// Measure implements lab.Measurer. All but the generator is the shop's cost. A
// search plays many loads: only its capacity counts.
func (s System) Measure(ctx context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover) (lab.Measured, error) {
	load, err := s.loadReport(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	if _, search := p.Level(SearchFrom); search {
		values := maps.Clone(load.Measures)
		maps.DeleteFunc(values, func(name string, _ float64) bool { return name != "capacity" })
		return lab.Measured{Values: values}, nil
	}
	found := lab.Measured{Values: map[string]float64{}, Spectra: map[string][]lab.Quantile{}}
	maps.Copy(found.Spectra, load.Spectra)
	for _, m := range metrics() {
		if value, measured := load.Measures[m.Name]; measured {
			found.Values[m.Name] = value
		}
	}
	if load.Sent > 0 {
		found.Values["error_share"] = 1 - float64(load.OK)/float64(load.Sent)
	}
	orders, err := reckon(ctx, v, left)
	if err != nil {
		return found, err
	}
	orders.times(found)
	orders.pace(found.Values, p, load)
	if err := orders.costs(ctx, v, found.Values, metered, left); err != nil {
		return found, err
	}
	found.Paths, err = paths(left.Dir, orders.final)
	return found, errors.Join(err, s.keepSpans(v, p, left.Dir))
}

// reckon counts what became of the orders. The databases are asked only for the ids
// of orders whose clients were not told them.
func reckon(ctx context.Context, v lab.Variant, left lab.Leftover) (t tally, err error) {
	t, err = count(left.Dir, nil)
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
	return count(left.Dir, ids)
}

// times adds how long orders took and how far read models lagged behind.
func (t *tally) times(found lab.Measured) {
	for quantity, values := range map[string][]float64{lab.CompletionTime: t.completions(), lab.Staleness: t.staleness()} {
		if len(values) == 0 {
			continue
		}
		found.Spectra[quantity] = spectrum(values)
		found.Values[quantity+"_p50"], found.Values[quantity+"_p99"] = at(values, 0.5), at(values, 0.99)
	}
}

// pace adds how many orders became final in which time.
func (t *tally) pace(values map[string]float64, p lab.Point, load lab.LoadReport) {
	window := 0.0
	if isOpen(p) {
		window = load.Duration
		if load.Offered > 0 {
			values["achieved_share"] = min(load.Achieved/load.Offered, 1)
		}
	}
	values["completed_rate"], values["goodput"] = t.rates(window)
	if _, counted := p.Level(Orders); !counted && t.accepted > 0 {
		values["unfinished_share"] = t.openAt(load.Duration)
	}
}

// isOpen reports whether orders come at a rate of their own.
func isOpen(p lab.Point) bool {
	return slices.ContainsFunc([]string{Rate, PerMinute}, func(name string) bool {
		_, set := p.Level(name)
		return set
	})
}
