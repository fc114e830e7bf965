package system

import (
	"context"
	"runtime"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
)

// part is a part of the system whose share of the host is measured apart, as the study
// measured each of its machines.
type part struct {
	suffix, title string
	has           func(role string) bool
}

func parts() []part {
	front := func(role string) bool {
		return role == architecture.UnitGateway || role == peopleunit.ServiceDatabase
	}
	return []part{
		{"", "units and database server", func(string) bool { return true }},
		{"_front", "gateway and database server", front},
		{"_services", "units behind the gateway", func(role string) bool {
			return !front(role) && role != people.Name
		}},
		{"_database", "database server", func(role string) bool { return role == peopleunit.ServiceDatabase }},
	}
}

// metrics of people, the headline first. docs/people.md defines them.
func metrics() []lab.Metric {
	response := func(name, title string, quantile float64) lab.Metric {
		return lab.Metric{Name: "response_time_" + name, Title: title + " response time", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindTime, Quantity: lab.ResponseTime, Quantile: quantile, Source: lab.FromGenerator}
	}
	all := []lab.Metric{
		response("mean", "mean", 0),
		response("p90", "90th percentile of the", 0.9),
		response("p50", "median", 0.5),
		response("p99", "99th percentile of the", 0.99),
		{Name: "goodput", Title: "requests per second that were answered rightly", Unit: "1/s",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindRate, Quantity: "goodput", Source: lab.FromGenerator},
		{Name: "capacity", Title: "highest rate that meets the objective", Unit: "1/s", Better: lab.HigherIsBetter,
			Kind: lab.KindRate, Quantity: lab.Capacity, Source: lab.FromGenerator},
		{Name: loaded.FigureErrors, Title: "share of requests that were not answered rightly", Unit: "1",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindShare, Quantity: "error", Source: lab.FromGenerator},
		{Name: "achieved_share", Title: "share of the offered flows that were begun in time", Unit: "1",
			Better: lab.HigherIsBetter,
			Kind:   lab.KindShare, Quantity: lab.Achieved, Source: lab.FromGenerator},
		{Name: "cpu_per_operation", Title: "CPU time of units and database server per request answered rightly",
			Unit: "s", Better: lab.LowerIsBetter,
			Kind: lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation, Phrase: "CPU", Source: lab.FromMeter},
	}
	all = append(all, loaded.ClientMetrics()...)
	for _, part := range parts() {
		all = append(all,
			lab.Metric{Name: "cpu_share" + part.suffix, Title: "share of the host's processors that is in use: " +
				part.title, Unit: "1", Better: lab.LowerIsBetter,
				Kind: lab.KindShare, Quantity: "cpu_share" + part.suffix, Source: lab.FromMeter},
			lab.Metric{Name: "memory" + part.suffix, Title: "mean memory: " + part.title, Unit: "B",
				Better: lab.LowerIsBetter,
				Kind:   lab.KindMemory, Quantity: "mean_memory" + part.suffix, Source: lab.FromMeter})
	}
	return append(all, lab.Metric{Name: "peak_memory",
		Title: "peak memory of units and database server, the sum over all", Unit: "B",
		Better: lab.LowerIsBetter, Kind: lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter})
}

// Profiling implements lab.Profiled.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/people"}}
}

// Measure implements lab.Measurer. All but the generator is the system's cost.
func (s System) Measure(
	_ context.Context, _ lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	load, err := s.base().Report(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	found := loaded.Measured(metrics(), p, load)
	if loaded.Searches(p) {
		return found, nil
	}
	if _, counted := p.Level(Records); counted && metered.WindowSeconds > 0 { // its duration is a limit
		found.Values["goodput"] = float64(load.OK) / metered.WindowSeconds
	}
	cpu, peak := loaded.Used(metered)
	found.Values["peak_memory"] = peak
	if load.OK > 0 {
		found.Values["cpu_per_operation"] = cpu / float64(load.OK)
	}
	for _, part := range parts() {
		part.measure(found.Values, metered)
	}
	return found, loaded.AddOutage(found, left)
}

// measure adds what a part has used; nothing where the variant has no such part.
func (p part) measure(values map[string]float64, metered lab.Metered) {
	var cpu, memory float64
	units := 0
	for role, usage := range metered.Roles {
		if role != lab.RoleGenerator && p.has(role) {
			cpu, memory, units = cpu+usage.CPUSeconds, memory+float64(usage.MeanMemoryBytes), units+usage.Units
		}
	}
	if units == 0 || metered.WindowSeconds <= 0 {
		return
	}
	values["memory"+p.suffix] = memory
	values["cpu_share"+p.suffix] = cpu / metered.WindowSeconds / float64(runtime.NumCPU())
}
