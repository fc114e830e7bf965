package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// Explanation implements lab.Explainable. Its metrics are the time until an order is final,
// the capacity, the cost of an order, and the counts that explain the cost.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Async, Rate: 20, Metrics: []string{
		"completion_time_p50", "completion_time_p99", "capacity", "cpu_per_operation", "peak_memory",
		"statements_per_order", "commits_per_order",
	}}
}

// Modelling implements lab.Modelled.
func (s System) Modelling() lab.Modelling {
	return lab.Modelling{Architecture: architecture.Monolith, Rate: 20, PerFlow: 1, Knob: kit.KnobSpans,
		All: kit.SpansAll, None: kit.SpansOff, Owned: func(v lab.Variant) bool {
			d, err := architecture.New(v.Architecture, v.Knobs)
			return err == nil && d.DatabaseOf(shop.ComponentOrders) != d.DatabaseOf(shop.ComponentInventory)
		}}
}

// Steps implements lab.Explainable. It returns a variant that is on both paths twice, with the same name.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	paths, err := architecture.Paths(from, to)
	if err != nil {
		return nil, nil, err
	}
	stops := []lab.Variant{paths[0].Stops[0]}
	var steps []lab.PathStep
	for n, path := range paths {
		for i, step := range path.Steps {
			step.Order = n + 1
			stops = append(stops, path.Stops[i+1])
			steps = append(steps, step)
		}
	}
	return stops, steps, nil
}

// OnBackings implements lab.Backed.
func (s System) OnBackings(v lab.Variant, kinds []string) (map[string]string, error) {
	return architecture.Backed(v, kinds)
}
