package system

import (
	"errors"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

// Explanation implements lab.Explainable: from the study's monolith to its services.
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
// last. The way back gives up the second host before the split, since one unit cannot be on two hosts.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := architecture.Catalogue().Between(from, to)
	if err != nil {
		return nil, nil, err
	}
	start, startErr := architecture.New(from.Architecture, from.Knobs)
	end, endErr := architecture.New(to.Architecture, to.Knobs)
	if err := errors.Join(startErr, endErr); err != nil {
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
	turns := knobSteps(after, len(end.Units) < len(start.Units))
	hosts := after[architecture.KnobHosts]
	// One step, since containers on a bridge cannot be on two hosts.
	move := loaded.Step{Name: architecture.KnobHosts + "-" + hosts, Sets: []loaded.Setting{
		{Name: architecture.KnobHosts, Value: hosts}, {Name: loaded.SetDeployment, Value: to.Deployment}}}
	switch {
	case before[architecture.KnobHosts] == hosts:
		steps = append(append(steps, turns...), deploy(to.Deployment, to.Deployment))
	case !end.TwoHosts:
		steps = append(append(steps, move), turns...)
	case contained:
		steps = append(append(steps, turns...), deploy("bridge", lab.DockerBridge), move)
	default:
		steps = append(append(steps, turns...), move)
	}
	from.System = people.Name
	from.Knobs = before
	return loaded.Walk(from, to, steps, s.Describe().Check)
}

// knobSteps returns the steps that set each knob except the hosts. A step is named after its knob, and also
// after its value if that is one of those the knob lists. Where units are joined, the order is reversed: what
// is added to calls is given up while there are calls, so that its step shows what it cost.
func knobSteps(settings map[string]string, joined bool) (steps []loaded.Step) {
	for _, k := range architecture.Catalogue().Knobs {
		value, name := settings[k.Name], k.Name
		if slices.Contains(k.Values, value) {
			name += "-" + value
		}
		if k.Name != architecture.KnobHosts {
			steps = append(steps, loaded.Step{Name: name, Sets: []loaded.Setting{{Name: k.Name, Value: value}}})
		}
	}
	if joined {
		slices.Reverse(steps)
	}
	return steps
}
