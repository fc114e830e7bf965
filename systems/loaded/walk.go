package loaded

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Names of settings that are not knobs.
const (
	SetArchitecture = "architecture"
	SetDeployment   = "deployment"
)

// Setting is the name of a knob, SetArchitecture or SetDeployment, and a value.
type Setting struct{ Name, Value string }

// Step leads from one variant to the next by changing settings. The next variant is named after it by NameOf.
type Step struct {
	Name string
	Sets []Setting
}

// Turn returns the step with a single setting. Its name consists of the setting and its value.
func Turn(name, value string) Step {
	return Step{Name: name + "-" + value, Sets: []Setting{{name, value}}}
}

// Walk applies steps to a variant, one after the other. It returns the variants, from included, and the steps
// between them; steps that change nothing are left out. A step whose variant cannot be built, by check, waits
// for later ones: security, for instance, has no effect in a single unit, so it is turned off before units
// are joined. If all steps have to wait, the first is taken all the same. from must have all its knobs. If to
// has another architecture, the last variant is named after it. It is an error if no step changes anything.
// All steps have lab.PathStep.Order 1: reports show them in this order.
func Walk(
	from, to lab.Variant, steps []Step, check func(lab.Variant) error,
) ([]lab.Variant, []lab.PathStep, error) {
	from.Name = from.Architecture
	variants := []lab.Variant{from}
	var taken []lab.PathStep
	for left := slices.Clone(steps); len(left) > 0; {
		at := variants[len(variants)-1]
		first := max(0, slices.IndexFunc(left, func(s Step) bool {
			next, _ := s.apply(at)
			return check(next) == nil
		}))
		if next, changes := left[first].apply(at); len(changes) > 0 {
			variants = append(variants, next)
			taken = append(taken, lab.PathStep{Order: 1, Before: at.Name, Variant: next.Name, Changes: changes})
		}
		left = slices.Delete(left, first, first+1)
	}
	last := len(taken) - 1
	if last < 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: nothing is to be explained", from.Architecture,
			to.Architecture)
	}
	if to.Architecture != from.Architecture {
		taken[last].Variant = to.Architecture
		variants[last+1].Name = to.Architecture
	}
	return variants, taken, nil
}

// apply returns a variant after the step, and what has changed.
func (s Step) apply(v lab.Variant) (next lab.Variant, changes []lab.KnobChange) {
	v.Name = NameOf(s.Name)
	v.Knobs = maps.Clone(v.Knobs)
	for _, setting := range s.Sets {
		if was := set(&v, setting); was != setting.Value {
			changes = append(changes, lab.KnobChange{Knob: setting.Name, From: was, To: setting.Value})
		}
	}
	return v, changes
}

// set changes a setting of a variant and returns the value it had.
func set(v *lab.Variant, s Setting) string {
	was := v.Knobs[s.Name]
	switch s.Name {
	case SetArchitecture:
		was = v.Architecture
		v.Architecture = s.Value
	case SetDeployment:
		was = v.Deployment
		v.Deployment = s.Value
	default:
		v.Knobs[s.Name] = s.Value
	}
	return was
}

// maxName limits names of variants and systems, in bytes. Readers of files have the same limit.
const maxName = 64

// notInNames matches what names of variants and systems cannot have.
var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// NameOf returns a text as a name of a variant or a system: what such names cannot have becomes a dash.
func NameOf(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-.")
	return strings.TrimRight(name[:min(len(name), maxName)], "-.")
}
