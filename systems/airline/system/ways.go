package system

import (
	"fmt"
	"maps"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
)

// What a way turns beside knobs.
const (
	turnArchitecture = "architecture"
	turnDeployment   = "deployment"
)

// Explanation implements lab.Explainable: from the study's monolith to its services.
// --from and --to take knobs and a deployment too.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 20, Metrics: []string{
		"cpu_per_operation", "response_time_p50", "response_time_mean", "response_time_p99", "memory",
	}}
}

// Ways implements lab.Explainable: first the runtime, then the split, then what else is
// turned, and the deployment last.
func (s System) Ways(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	at, err := turns(from)
	if err != nil {
		return nil, nil, err
	}
	after, err := turns(to)
	if err != nil {
		return nil, nil, err
	}
	stops, steps := []lab.Variant{variantOf(from.Architecture, at)}, []lab.PathStep(nil)
	for _, turn := range []string{architecture.KnobRuntime, turnArchitecture, architecture.KnobStore,
		architecture.KnobSessions, architecture.KnobPool, architecture.KnobCalls, architecture.KnobWorkers,
		turnDeployment} {
		if at[turn] == after[turn] {
			continue
		}
		change := lab.KnobChange{Knob: turn, From: at[turn], To: after[turn]}
		at[turn] = after[turn]
		stop := variantOf(turn+"-"+at[turn], at)
		steps = append(steps, lab.PathStep{Order: 1, Before: stops[len(stops)-1].Name, Variant: stop.Name,
			Changes: []lab.KnobChange{change}})
		stops = append(stops, stop)
	}
	if len(steps) == 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	return stops, steps, nil
}

// turns are all that can be turned in a variant.
func turns(v lab.Variant) (map[string]string, error) {
	all, err := architecture.Settings(v.Architecture, v.Knobs)
	if err == nil {
		all[turnArchitecture], all[turnDeployment] = v.Architecture, v.Deployment
	}
	return all, err
}

func variantOf(name string, turned map[string]string) lab.Variant {
	knobs := maps.Clone(turned)
	delete(knobs, turnArchitecture)
	delete(knobs, turnDeployment)
	return lab.Variant{Name: name, System: airline.Name, Architecture: turned[turnArchitecture],
		Deployment: turned[turnDeployment], Knobs: knobs}
}
