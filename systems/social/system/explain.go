package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
)

// Explanation implements lab.Explainable.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 100, Metrics: []string{
		"response_time_p50", "response_time_p99", "cpu_per_operation", "peak_memory",
	}}
}

// Modelling implements lab.Modelled.
func (s System) Modelling() lab.Modelling {
	return lab.Modelling{Architecture: architecture.Monolith, Rate: 40, PerFlow: 1, Knob: kit.KnobSpans,
		All: kit.SpansAll, None: kit.SpansOff, Owned: func(lab.Variant) bool { return true }}
}

// Steps implements lab.Explainable: it turns one knob after the other, in the order of the catalogue, which
// begins with the placement.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := architecture.Catalogue().Between(from, to)
	if err != nil {
		return nil, nil, err
	}
	var steps []loaded.Step
	for _, k := range architecture.Catalogue().Knobs {
		steps = append(steps, loaded.Turn(k.Name, after[k.Name]))
	}
	from.System = social.Name
	from.Knobs = before
	return loaded.Walk(from, to, steps, s.Describe().Check)
}
