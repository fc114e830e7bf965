package system

import (
	"fmt"
	"maps"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
)

// Explanation implements lab.Explainable.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 100, Metrics: []string{
		"response_time_p50", "response_time_p99", "cpu_per_operation", "peak_memory",
	}}
}

// Ways implements lab.Explainable: one knob after another, in their order, the split first.
func (s System) Ways(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	after, err := architecture.Settings(to.Architecture, to.Knobs)
	if err != nil {
		return nil, nil, err
	}
	at := from
	at.Name, at.System = from.Architecture, social.Name
	if at.Knobs, err = architecture.Settings(from.Architecture, from.Knobs); err != nil {
		return nil, nil, err
	}
	stops := []lab.Variant{at}
	var steps []lab.PathStep
	for _, k := range architecture.All()[0].Knobs {
		if at.Knobs[k.Name] == after[k.Name] {
			continue
		}
		change := lab.KnobChange{Knob: k.Name, From: at.Knobs[k.Name], To: after[k.Name]}
		at.Knobs = maps.Clone(at.Knobs)
		at.Knobs[k.Name] = after[k.Name]
		before := at.Name
		at.Name = fmt.Sprintf("%s-%s", k.Name, after[k.Name])
		stops = append(stops, at)
		steps = append(steps, lab.PathStep{Order: 1, Before: before, Variant: at.Name,
			Changes: []lab.KnobChange{change}})
	}
	if len(steps) == 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	if last := len(steps) - 1; to.Architecture != from.Architecture { // it has arrived
		steps[last].Variant, stops[last+1].Name = to.Architecture, to.Architecture
	}
	return stops, steps, nil
}
