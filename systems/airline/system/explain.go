package system

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Explanation implements lab.Explainable: from the study's monolith to its services.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 20, Metrics: []string{
		"cpu_per_operation", "response_time_p50", "response_time_mean", "response_time_p99", "memory",
	}}
}

// Steps implements lab.Explainable. Knobs change in this order: the runtime, the split, the other knobs, and
// the deployment. Those that return to their defaults change before all of them, in the reverse order. A knob
// may depend on earlier ones: gRPC needs kept connections, and all knobs for calls need services. So every
// stop can be built.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := architecture.Catalogue().Between(from, to)
	if err != nil {
		return nil, nil, err
	}
	defaults, err := architecture.Catalogue().Settings(architecture.Monolith, nil)
	if err != nil {
		return nil, nil, err
	}
	after[loaded.SetArchitecture] = to.Architecture
	defaults[loaded.SetArchitecture] = architecture.Monolith
	var back, forth []loaded.Step
	for _, name := range []string{architecture.KnobRuntime, loaded.SetArchitecture, architecture.KnobStore,
		architecture.KnobSessions, architecture.KnobPool, architecture.KnobCalls, kit.KnobSecurity,
		kit.KnobResilience, kit.KnobSidecar, kit.KnobLogging, kit.KnobSpans, architecture.KnobWorkers} {
		step := loaded.Turn(name, after[name])
		if after[name] == defaults[name] {
			back = append(back, step)
		} else {
			forth = append(forth, step)
		}
	}
	slices.Reverse(back)
	from.System = airline.Name
	from.Knobs = before
	return loaded.Walk(from, to, slices.Concat(back, forth,
		[]loaded.Step{loaded.Turn(loaded.SetDeployment, to.Deployment)}), s.Describe().Check)
}
