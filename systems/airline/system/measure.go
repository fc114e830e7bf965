package system

import (
	"context"
	"errors"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// metrics returns the metrics of the airline, the headline first. docs/airline.md defines them.
func metrics() []lab.Metric {
	words := loaded.Words{Operations: "requests", Flows: "visits", Cost: "the units",
		Per: "request answered rightly", Response: "response time"}
	all := []lab.Metric{words.Goodput(), words.CPU(),
		{Name: "front_cpu_per_operation", Title: "CPU time of HAProxy per request answered rightly", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindCost, Quantity: "front_cpu", Per: lab.PerOperation, Source: lab.FromMeter},
		lab.ProfiledMetric()}
	all = append(all, words.ResponseTimes(0.5, 0, 0.99)...)
	all = append(all, words.Capacity(), words.Errors(), words.AchievedShare(),
		lab.Metric{Name: "memory", Title: "mean memory of the units, the sum over all", Unit: "B",
			Better: lab.LowerIsBetter, Kind: lab.KindMemory, Quantity: "mean_memory", Source: lab.FromMeter},
		lab.Metric{Name: "time_to_first_answer",
			Title: "time from the start of the units to the first right answer", Unit: "s", Better: lab.LowerIsBetter,
			Kind: lab.KindTime, Quantity: lab.FirstAnswer, Source: lab.FromGenerator, Clocks: true},
		kit.Amplification(), words.PeakMemory())
	return append(all, loaded.ClientMetrics()...)
}

// Profiling implements lab.Profiled. HAProxy is no part of what a request costs here.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"cleave.airline", "github.com/cleave-lab/cleave/systems/airline"},
		Apart: []string{front}}
}

// Measure implements lab.Measurer. The cost of the units and of a database server is separate from that of
// HAProxy, which is the same in all variants and has processors of its own if there are some.
func (s System) Measure(
	_ context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, load, err := s.base().Measure(metrics(), p, metered, left)
	if err != nil {
		return found, err
	}
	first, answered, err := loaded.FirstAnswer(left.Dir, left.Spawned)
	if err != nil {
		return lab.Measured{}, err
	}
	if answered {
		found.Values["time_to_first_answer"] = first
	}
	if loaded.Searches(p) {
		return found, nil
	}
	loaded.AddCost(found.Values, metered, load.OK, front)
	if used := metered.Used(front); !used.Lacks("mean_memory_bytes") {
		found.Values["memory"] = float64(used.MeanMemoryBytes)
	}
	if used := metered.Roles[front]; load.OK > 0 && !used.Lacks("cpu_seconds") {
		found.Values["front_cpu_per_operation"] = used.CPUSeconds / float64(load.OK)
	}
	return found, errors.Join(hosting.AddAmplification(found.Values, left.Reports),
		hosting.KeepSpans(s.Spans, v, p, left.Dir))
}
