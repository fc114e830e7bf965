package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Explanation implements lab.Explainable: from the study's monolith to its services.
// --from and --to take knobs and a deployment too.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 20, Metrics: []string{
		"cpu_per_operation", "response_time_p50", "response_time_mean", "response_time_p99", "memory",
	}}
}

// Steps implements lab.Explainable: first the runtime, then the split, then what else is
// turned, and the deployment last.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := architecture.Catalogue().Between(from, to)
	if err != nil {
		return nil, nil, err
	}
	after[loaded.SetArchitecture], after[loaded.SetDeployment] = to.Architecture, to.Deployment
	var steps []loaded.Step
	for _, name := range []string{architecture.KnobRuntime, loaded.SetArchitecture, architecture.KnobStore,
		architecture.KnobSessions, architecture.KnobPool, architecture.KnobCalls, kit.KnobSecurity,
		kit.KnobResilience, kit.KnobSidecar, kit.KnobLogging, kit.KnobSpans, architecture.KnobWorkers,
		loaded.SetDeployment} {
		steps = append(steps, loaded.Turn(name, after[name]))
	}
	from.System, from.Knobs = airline.Name, before
	return loaded.Walk(from, to, steps)
}
