package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// Explanation implements lab.Explainable. What explains a cost is how long until an
// order is final, how many orders the shop can take, what one costs, and why.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Async, Rate: 20, Metrics: []string{
		"completion_time_p50", "completion_time_p99", "capacity", "cpu_per_operation", "peak_memory",
		"statements_per_order", "commits_per_order",
	}}
}

// Modelling implements lab.Modelled.
func (s System) Modelling() lab.Modelling {
	return lab.Modelling{Architecture: architecture.Monolith, Rate: 20, Knob: architecture.KnobSpans, All: "1",
		None: architecture.SpansOff}
}

// Ways implements lab.Explainable.
func (s System) Ways(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	paths, err := architecture.Paths(choice(from), choice(to))
	if err != nil {
		return nil, nil, err
	}
	stop := func(name string, c architecture.Choice) lab.Variant {
		return lab.Variant{Name: name, System: shop.Name, Architecture: c.Architecture, Knobs: c.Knobs,
			Deployment: from.Deployment}
	}
	stops := []lab.Variant{stop(paths[0].Name, paths[0].From)}
	var steps []lab.PathStep
	for order, path := range paths {
		before := path.Name
		for _, step := range path.Steps {
			steps = append(steps, lab.PathStep{Order: order + 1, Before: before, Variant: step.Name,
				Changes: knobChanges(step.Changes), Tunes: step.Tunes()})
			stops, before = append(stops, stop(step.Name, step.To)), step.Name
		}
	}
	return stops, steps, nil
}

// OnBackings implements lab.Backed.
func (s System) OnBackings(v lab.Variant, kinds []string) (map[string]string, error) {
	return architecture.Backed(v.Architecture, v.Knobs, kinds)
}

// choice returns a variant in the words of the architectures.
func choice(v lab.Variant) architecture.Choice {
	return architecture.Choice{Architecture: v.Architecture, Knobs: v.Knobs}
}
