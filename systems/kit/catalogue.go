package kit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Preset is an architecture: a name for a setting of knobs. Knobs that Settings lacks have their
// first value.
type Preset struct {
	Name, Summary string
	Settings      map[string]string
}

// Catalogue holds the architectures of a system and their common knobs.
type Catalogue struct {
	System  string // the system's name in messages, such as "the shop"
	Knobs   []lab.Knob
	Presets []Preset
}

// Names returns the names of the architectures.
func (c Catalogue) Names() []string {
	var all []string
	for _, p := range c.Presets {
		all = append(all, p.Name)
	}
	return all
}

// All returns the architectures with their knobs, each with the architecture's own value first.
func (c Catalogue) All() []lab.Architecture {
	var all []lab.Architecture
	for _, p := range c.Presets {
		a := lab.Architecture{Name: p.Name, Summary: p.Summary}
		for _, k := range c.Knobs {
			own := cmp.Or(p.Settings[k.Name], k.Values[0])
			others := slices.DeleteFunc(slices.Clone(k.Values), func(v string) bool { return v == own })
			k.Values = append([]string{own}, others...)
			a.Knobs = append(a.Knobs, k)
		}
		all = append(all, a)
	}
	return all
}

// Settings returns the values of all knobs of an architecture; those in turned replace the architecture's
// own. The error names every mistake. Settings does not check the values of knobs that are Free.
func (c Catalogue) Settings(name string, turned map[string]string) (map[string]string, error) {
	i := slices.IndexFunc(c.Presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no architecture %q: use one of %s", c.System, name,
			strings.Join(c.Names(), ", "))
	}
	var mistakes []error
	settings := map[string]string{}
	for _, k := range c.Knobs {
		settings[k.Name] = k.Values[0]
	}
	for _, knob := range slices.Sorted(maps.Keys(turned)) {
		if i := slices.IndexFunc(c.Knobs, func(k lab.Knob) bool { return k.Name == knob }); i < 0 {
			mistakes = append(mistakes, fmt.Errorf("there is no knob %q", knob))
		} else if k := c.Knobs[i]; !k.Free && !slices.Contains(k.Values, turned[knob]) {
			mistakes = append(mistakes, fmt.Errorf("%s is %q: use one of %s", knob, turned[knob],
				strings.Join(k.Values, ", ")))
		}
	}
	maps.Copy(settings, c.Presets[i].Settings)
	maps.Copy(settings, turned)
	if err := errors.Join(mistakes...); err != nil {
		return nil, fmt.Errorf("architecture %s: %w", name, err)
	}
	return settings, nil
}

// Between returns the settings of two variants.
func (c Catalogue) Between(from, to lab.Variant) (before, after map[string]string, err error) {
	before, errBefore := c.Settings(from.Architecture, from.Knobs)
	after, errAfter := c.Settings(to.Architecture, to.Knobs)
	return before, after, errors.Join(errBefore, errAfter)
}

// Changes returns the knobs in which two variants differ; nil if one of them cannot be built.
func (c Catalogue) Changes(from, to lab.Variant) []lab.KnobChange {
	before, after, err := c.Between(from, to)
	if err != nil {
		return nil
	}
	return c.Differing(before, after)
}

// Differing returns the knobs that have different values in two settings of all knobs.
func (c Catalogue) Differing(before, after map[string]string) (all []lab.KnobChange) {
	for _, k := range c.Knobs {
		if before[k.Name] != after[k.Name] {
			all = append(all, lab.KnobChange{Knob: k.Name, From: before[k.Name], To: after[k.Name]})
		}
	}
	return all
}

// OnBackings returns the settings that put a variant on backing services of these kinds. Each kind
// goes to the first of the named knobs, in the order of the catalogue, that has it as a value.
func (c Catalogue) OnBackings(v lab.Variant, kinds []string, knobs ...string) (map[string]string, error) {
	if _, err := c.Settings(v.Architecture, v.Knobs); err != nil {
		return nil, err
	}
	turned := map[string]string{}
	var usable []string
	for _, kind := range kinds {
		knob := ""
		for _, k := range c.Knobs {
			if !slices.Contains(knobs, k.Name) {
				continue
			}
			usable = append(usable, k.Values...)
			if knob == "" && slices.Contains(k.Values, kind) {
				knob = k.Name
			}
		}
		if knob == "" {
			slices.Sort(usable)
			return nil, fmt.Errorf("%s has no use for the backing %q: use one of %s", c.System, kind,
				strings.Join(slices.Compact(usable), ", "))
		}
		if other := cmp.Or(turned[knob], kind); other != kind {
			return nil, fmt.Errorf("%s and %s are both for the %s: choose one", other, kind, knob)
		}
		turned[knob] = kind
	}
	return turned, nil
}

// Number returns the value of a knob that is a whole number from 1 to highest.
func Number(settings map[string]string, knob string, highest int) (int, error) {
	n, err := strconv.Atoi(settings[knob])
	if err != nil || n < 1 || n > highest {
		return 0, fmt.Errorf("%s is %q: use 1 to %d", knob, settings[knob], highest)
	}
	return n, nil
}
