package loaded

import (
	"fmt"
	"maps"

	"github.com/cleave-lab/cleave/lab"
)

// Names of settings that are not knobs.
const (
	SetArchitecture = "architecture"
	SetDeployment   = "deployment"
)

// Setting is the name of a knob, SetArchitecture or SetDeployment, and a value.
type Setting struct{ Name, Value string }

// Step leads from one variant to the next: it changes settings. The next variant has the name of the step.
type Step struct {
	Name string
	Sets []Setting
}

// Turn returns the step with a single setting. Its name consists of the setting and its value.
func Turn(name, value string) Step {
	return Step{Name: name + "-" + value, Sets: []Setting{{name, value}}}
}

// Walk applies steps to a variant, one after the other. It returns the variants, from included, and the steps
// between them; steps that change nothing are left out. from must have all its knobs. If the architecture of
// to differs, the last variant gets its name. It is an error if no step changes anything.
func Walk(from, to lab.Variant, steps []Step) ([]lab.Variant, []lab.PathStep, error) {
	from.Name = from.Architecture
	variants := []lab.Variant{from}
	var taken []lab.PathStep
	for _, step := range steps {
		at := variants[len(variants)-1]
		before := at.Name
		at.Name, at.Knobs = step.Name, maps.Clone(at.Knobs)
		var changes []lab.KnobChange
		for _, s := range step.Sets {
			if was := set(&at, s); was != s.Value {
				changes = append(changes, lab.KnobChange{Knob: s.Name, From: was, To: s.Value})
			}
		}
		if len(changes) > 0 {
			variants = append(variants, at)
			taken = append(taken, lab.PathStep{Order: 1, Before: before, Variant: step.Name, Changes: changes})
		}
	}
	last := len(taken) - 1
	if last < 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	if to.Architecture != from.Architecture {
		taken[last].Variant, variants[last+1].Name = to.Architecture, to.Architecture
	}
	return variants, taken, nil
}

// set changes a setting of a variant and returns the value it had.
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
