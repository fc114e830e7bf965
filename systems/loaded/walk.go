package loaded

import (
	"fmt"
	"maps"

	"github.com/cleave-lab/cleave/lab"
)

// What a step sets beside knobs.
const (
	SetArchitecture = "architecture"
	SetDeployment   = "deployment"
)

// Setting is a knob, the architecture or the deployment, and its value.
type Setting struct{ Name, Value string }

// Step is a step from one variant to the next, which has the name of the step and its settings.
type Step struct {
	Name string
	Sets []Setting
}

// Turn returns the step that sets one thing, named after it and its value.
func Turn(name, value string) Step {
	return Step{Name: name + "-" + value, Sets: []Setting{{name, value}}}
}

// Walk returns the variants from one to another, and the steps between them; those that change nothing are
// left out. from must have all its knobs. If the architecture changes, the last variant has its name.
func Walk(from, to lab.Variant, steps []Step) ([]lab.Variant, []lab.PathStep, error) {
	from.Name = from.Architecture
	stops := []lab.Variant{from}
	var taken []lab.PathStep
	for _, step := range steps {
		at := stops[len(stops)-1]
		before := at.Name
		at.Name, at.Knobs = step.Name, maps.Clone(at.Knobs)
		var changes []lab.KnobChange
		for _, s := range step.Sets {
			if was := set(&at, s); was != s.Value {
				changes = append(changes, lab.KnobChange{Knob: s.Name, From: was, To: s.Value})
			}
		}
		if len(changes) > 0 {
			stops = append(stops, at)
			taken = append(taken, lab.PathStep{Order: 1, Before: before, Variant: step.Name, Changes: changes})
		}
	}
	last := len(taken) - 1
	if last < 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	if to.Architecture != from.Architecture {
		taken[last].Variant, stops[last+1].Name = to.Architecture, to.Architecture
	}
	return stops, taken, nil
}

// set changes a setting of a variant and returns its former value.
func set(v *lab.Variant, s Setting) string {
	was := v.Knobs[s.Name]
	switch s.Name {
	case SetArchitecture:
		was, v.Architecture = v.Architecture, s.Value
	case SetDeployment:
		was, v.Deployment = v.Deployment, s.Value
	default:
		v.Knobs[s.Name] = s.Value
	}
	return was
}
