package system

import (
	"context"
	"path/filepath"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// metrics of the airline, the headline first. docs/airline.md defines them.
func metrics() []lab.Metric {
	response := func(name, title string, quantile float64) lab.Metric {
		return lab.Metric{Name: "response_time_" + name, Title: title + " response time", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindTime, Quantity: lab.ResponseTime, Quantile: quantile, Source: lab.FromGenerator}
	}
	return append([]lab.Metric{
		{Name: "goodput", Title: "requests per second that were answered rightly", Unit: "1/s",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindRate, Quantity: "goodput", Source: lab.FromGenerator},
		{Name: "cpu_per_operation", Title: "CPU time of the units per request answered rightly", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation, Phrase: "CPU", Source: lab.FromMeter},
		{Name: "front_cpu_per_operation", Title: "CPU time of HAProxy per request answered rightly", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindCost, Quantity: "front_cpu", Per: lab.PerOperation, Source: lab.FromMeter},
		lab.ProfiledMetric(),
		response("p50", "median", 0.5),
		response("mean", "mean", 0),
		response("p99", "99th percentile of the", 0.99),
		{Name: "capacity", Title: "highest rate of visits that meets the objective", Unit: "1/s",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindRate, Quantity: lab.Capacity, Source: lab.FromGenerator},
		{Name: loaded.FigureErrors, Title: "share of requests that were not answered rightly", Unit: "1",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindShare, Quantity: "error", Source: lab.FromGenerator},
		{Name: "achieved_share", Title: "share of the offered visits that were begun in time", Unit: "1",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindShare, Quantity: lab.Achieved, Source: lab.FromGenerator},
		{Name: "memory", Title: "mean memory of the units, the sum over all", Unit: "B", Better: lab.LowerIsBetter,
			Kind: lab.KindMemory, Quantity: "mean_memory", Source: lab.FromMeter},
		{Name: "time_to_first_answer", Title: "time from the start of the units to the first right answer",
			Unit: "s", Better: lab.LowerIsBetter,
			Kind: lab.KindTime, Quantity: lab.FirstAnswer, Source: lab.FromGenerator, Clocks: true},
		{Name: "peak_memory", Title: "peak memory of the units, the sum over all", Unit: "B",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter},
	}, loaded.ClientMetrics()...)
}

// Profiling implements lab.Profiled. HAProxy is no part of what a request costs here.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"cleave.airline", "github.com/cleave-lab/cleave/systems/airline"},
		Apart: []string{front}}
}

// Measure implements lab.Measurer. The units' cost, and that of a database server, is
// told from that of HAProxy, which is the same in all variants and has processors of its
// own where there are some.
func (s System) Measure(
	_ context.Context, _ lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	load, err := s.base().Report(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	found := loaded.Measured(metrics(), p, load)
	first, answered, err := loaded.FirstAnswer(filepath.Join(left.Dir, loaded.History), left.Spawned)
	if err != nil {
		return lab.Measured{}, err
	}
	if answered {
		found.Values["time_to_first_answer"] = first
	}
	if loaded.Searches(p) {
		return found, nil
	}
	if err := loaded.AddOutage(found, left); err != nil {
		return found, err
	}
	if _, counted := p.Level(Visits); counted && metered.WindowSeconds > 0 { // its duration is a limit
		found.Values["goodput"] = float64(load.OK) / metered.WindowSeconds
	}
	cpu, peak := loaded.Used(metered)
	door := metered.Roles[front]
	found.Values["peak_memory"] = peak - float64(door.PeakMemoryBytes)
	for role, usage := range metered.Roles {
		if role != lab.RoleGenerator && role != front {
			found.Values["memory"] += float64(usage.MeanMemoryBytes)
		}
	}
	if load.OK > 0 {
		found.Values["cpu_per_operation"] = (cpu - door.CPUSeconds) / float64(load.OK)
		found.Values["front_cpu_per_operation"] = door.CPUSeconds / float64(load.OK)
	}
	return found, nil
}
