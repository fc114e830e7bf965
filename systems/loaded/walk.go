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

// Step is a step from one variant to another: its settings become those of the variant at its end,
// which has its name.
type Step struct {
	Name string
	Sets []Setting
}

// Turn returns the step that sets one thing, named after it and its value.
func Turn(name, value string) Step {
	return Step{Name: name + "-" + value, Sets: []Setting{{name, value}}}
}

// Walk returns the variants on the way between two, and the steps between them. The first is
// from, which has all its knobs; where the architecture changes, the last has the name of to's.
// Steps that change nothing are left out.
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
