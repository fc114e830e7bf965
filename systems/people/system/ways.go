package system

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

// Explanation implements lab.Explainable: from the study's monolith to its services, as
// processes. --from and --to take a deployment too.
func (s System) Explanation() lab.Explanation {
	return lab.Explanation{From: architecture.Monolith, To: architecture.Services, Rate: 50, Metrics: []string{
		"response_time_p50", "response_time_mean", "response_time_p90", "cpu_per_operation", "peak_memory",
	}}
}

// Ways implements lab.Explainable. First comes the container, then the split, then what
// else is turned, then the network between containers, and the second host last, as the
// study puts its architectures beside each other.
func (s System) Ways(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	after, err := architecture.Settings(to.Architecture, to.Knobs)
	if err != nil {
		return nil, nil, err
	}
	w := way{after: after, at: from, name: from.Architecture}
	if w.before, err = architecture.Settings(from.Architecture, from.Knobs); err != nil {
		return nil, nil, err
	}
	w.at.Knobs = maps.Clone(w.before)
	w.stop()
	hosts := w.before[architecture.KnobHosts] != after[architecture.KnobHosts]
	if from.Deployment == lab.Process && to.Deployment != lab.Process {
		w.deploy("container", lab.DockerHost)
	}
	for _, k := range architecture.All()[0].Knobs {
		if k.Name != architecture.KnobHosts {
			w.turn(k)
		}
	}
	if hosts && from.Deployment == lab.Process && to.Deployment != lab.Process {
		w.deploy("bridge", lab.DockerBridge)
	}
	if hosts { // one step: a bridge has no hosts
		w.change(architecture.KnobHosts+"-"+after[architecture.KnobHosts], func() []lab.KnobChange {
			return append(w.turned(architecture.KnobHosts), w.deployed(to.Deployment)...)
		})
	} else {
		w.deploy(to.Deployment, to.Deployment)
	}
	if len(w.steps) == 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	if last := len(w.steps) - 1; to.Architecture != from.Architecture { // it has arrived
		w.steps[last].Variant, w.stops[last+1].Name = to.Architecture, to.Architecture
	}
	return w.stops, w.steps, nil
}

// way is a way that is being made.
type way struct {
	before, after map[string]string
	at            lab.Variant // where it is
	name          string
	stops         []lab.Variant
	steps         []lab.PathStep
}

func (w *way) stop() {
	v := w.at
	v.Name, v.System, v.Knobs = w.name, people.Name, maps.Clone(w.at.Knobs)
	w.stops = append(w.stops, v)
}

// change takes a step, where there is anything to change.
func (w *way) change(name string, doing func() []lab.KnobChange) {
	changes := doing()
	if len(changes) == 0 {
		return
	}
	before := w.name
	w.name = name
	w.stop()
	w.steps = append(w.steps, lab.PathStep{Order: 1, Before: before, Variant: name, Changes: changes})
}

func (w *way) turn(k lab.Knob) {
	name := k.Name
	if after := w.after[k.Name]; !k.Free || slices.Contains(k.Values, after) {
		name += "-" + after
	}
	w.change(name, func() []lab.KnobChange { return w.turned(k.Name) })
}

func (w *way) deploy(name, deployment string) {
	w.change(name, func() []lab.KnobChange { return w.deployed(deployment) })
}

// turned turns a knob to where it ends.
func (w *way) turned(knob string) []lab.KnobChange {
	from, to := w.at.Knobs[knob], w.after[knob]
	if from == to {
		return nil
	}
	w.at.Knobs[knob] = to
	return []lab.KnobChange{{Knob: knob, From: from, To: to}}
}

func (w *way) deployed(deployment string) []lab.KnobChange {
	from := w.at.Deployment
	if from == deployment {
		return nil
	}
	w.at.Deployment = deployment
	return []lab.KnobChange{{Knob: "deployment", From: from, To: deployment}}
}
