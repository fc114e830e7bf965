package system

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

// Explanation implements lab.Explainable: from the study's monolith to its services, as
// processes. --from and --to take a deployment, too.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 50, Metrics: []string{
		"response_time_p50", "response_time_mean", "response_time_p90", "cpu_per_operation", "peak_memory",
	}}
}

// Modelling implements lab.Modelled. A flow creates a record and fetches it.
func (s System) Modelling() lab.Modelling {
	return lab.Modelling{Architecture: architecture.Monolith, Rate: 40, PerFlow: 2, Knob: kit.KnobSpans,
		All: kit.SpansAll, None: kit.SpansOff, Owned: func(v lab.Variant) bool {
			d, err := architecture.New(v.Architecture, v.Knobs)
			return err == nil && d.Own
		}}
}

// Steps implements lab.Explainable. The order is that in which the study compares its architectures: first
// the container, then the split and the other knobs, then the network between containers, and the second host
// last.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := architecture.Catalogue().Between(from, to)
	if err != nil {
		return nil, nil, err
	}
	deploy := func(name, deployment string) loaded.Step {
		return loaded.Step{Name: name, Sets: []loaded.Setting{{Name: loaded.SetDeployment, Value: deployment}}}
	}
	var steps []loaded.Step
	contained := from.Deployment == lab.Process && to.Deployment != lab.Process
	if contained {
		steps = append(steps, deploy("container", lab.DockerHost))
	}
	for _, k := range architecture.Catalogue().Knobs {
		value, name := after[k.Name], k.Name
		if !k.Free || slices.Contains(k.Values, value) {
			name += "-" + value
		}
		if k.Name != architecture.KnobHosts {
			steps = append(steps, loaded.Step{Name: name, Sets: []loaded.Setting{{Name: k.Name, Value: value}}})
		}
	}
	hosts := after[architecture.KnobHosts]
	if before[architecture.KnobHosts] == hosts {
		steps = append(steps, deploy(to.Deployment, to.Deployment))
	} else {
		if contained {
			steps = append(steps, deploy("bridge", lab.DockerBridge))
		}
		// one step: a bridge has no hosts
		steps = append(steps, loaded.Step{Name: architecture.KnobHosts + "-" + hosts, Sets: []loaded.Setting{
			{Name: architecture.KnobHosts, Value: hosts}, {Name: loaded.SetDeployment, Value: to.Deployment}}})
	}
	from.System, from.Knobs = people.Name, before
	return loaded.Walk(from, to, steps)
}
