package system

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/social/architecture"
)

// metrics of social, the headline first. docs/social.md defines them.
func metrics() []lab.Metric {
	response := func(name, title string, quantile float64) lab.Metric {
		return lab.Metric{Name: "response_time_" + name, Title: title + " response time", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindTime, Quantity: lab.ResponseTime, Quantile: quantile, Source: lab.FromGenerator}
	}
	all := []lab.Metric{
		response("p50", "median", 0.5),
		response("p99", "99th percentile of the", 0.99),
		response("p999", "99.9th percentile of the", 0.999),
		response("max", "longest", 1),
		response("mean", "mean", 0),
		{Name: "goodput", Title: "requests per second that were answered rightly", Unit: "1/s",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindRate, Quantity: "goodput", Source: lab.FromGenerator},
		{Name: "capacity", Title: "highest rate that meets the objective", Unit: "1/s", Better: lab.HigherIsBetter,
			Kind: lab.KindRate, Quantity: lab.Capacity, Source: lab.FromGenerator},
		{Name: loaded.FigureErrors, Title: "share of requests that were not answered rightly", Unit: "1",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindShare, Quantity: "error", Source: lab.FromGenerator},
		{Name: "achieved_share", Title: "share of the offered requests that were begun in time", Unit: "1",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindShare, Quantity: lab.Achieved, Source: lab.FromGenerator},
		{Name: "cpu_per_operation", Title: "CPU time of units and servers per request answered rightly", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation, Phrase: "CPU", Source: lab.FromMeter},
	}
	all = append(all, loaded.ClientMetrics()...)
	all = append(all,
		lab.Metric{Name: "stale_share",
			Title: "share of home timelines read that lacked an acknowledged post, where events fill them", Unit: "1",
			Better: lab.LowerIsBetter, Kind: lab.KindShare, Quantity: "stale", Source: lab.FromSystem},
		lab.Metric{Name: "staleness_p99", Title: "99th percentile of how far, at least, such a read was behind",
			Unit:   "s",
			Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.Staleness, Quantile: 0.99,
			Source: lab.FromSystem},
		lab.Metric{Name: "staleness_max", Title: "longest time by which one was behind, at least", Unit: "s",
			Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.Staleness, Quantile: 1,
			Source: lab.FromSystem})
	return append(all, lab.Metric{Name: "peak_memory",
		Title: "peak memory of units and servers, the sum over all", Unit: "B", Better: lab.LowerIsBetter,
		Kind: lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter})
}

// Measure implements lab.Measurer. All but the generator is the system's cost.
func (s System) Measure(
	_ context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	load, err := s.base().Report(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	found := loaded.Measured(metrics(), p, load)
	if loaded.Searches(p) {
		return found, nil
	}
	if _, counted := p.Level(Operations); counted && metered.WindowSeconds > 0 { // its duration is a limit
		found.Values["goodput"] = float64(load.OK) / metered.WindowSeconds
	}
	cpu, peak := loaded.Used(metered)
	found.Values["peak_memory"] = peak
	if load.OK > 0 {
		found.Values["cpu_per_operation"] = cpu / float64(load.OK)
	}
	return found, errors.Join(loaded.AddOutage(found, left), measureStaleness(found.Values, v, p, left))
}

// measureStaleness adds what readers of home timelines have missed, where events fill these.
func measureStaleness(values map[string]float64, v lab.Variant, p lab.Point, left lab.Leftover) error {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil || design.Broker == "" {
		return err
	}
	people, err := sizeOf(p)
	if err != nil {
		return err
	}
	j := newJudge(people, design)
	if err := loaded.EachAttempt(filepath.Join(left.Dir, loaded.History), j.take); err != nil {
		return err
	}
	j.judgeReads()
	if n := len(j.behind); n > 0 {
		slices.Sort(j.behind)
		values["stale_share"] = float64(j.Counts[countStale]) / float64(n)
		values["staleness_p99"], values["staleness_max"] = loaded.Percentile(j.behind, 0.99), j.behind[n-1]
	}
	return nil
}
