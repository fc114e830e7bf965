package kit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Named placements.
const (
	Together = "together" // all components in one unit
	Apart    = "apart"    // each in a unit of its own
)

// Place divides the components of a system into units, and returns the components of each. The text is
// Together, Apart, or groups such as "a+b,c"; components that are in none of them form one more group. The
// error names every mistake.
func Place(text string, components []string) ([][]string, error) {
	left := slices.Clone(components)
	switch text {
	case Together:
		return [][]string{left}, nil
	case Apart:
		return slices.Collect(slices.Chunk(left, 1)), nil
	}
	var units [][]string
	var mistakes []error
	for group := range strings.SplitSeq(text, ",") {
		unit := strings.Split(group, "+")
		for _, component := range unit {
			i := slices.Index(left, component)
			switch {
			case i >= 0:
				left = slices.Delete(left, i, i+1)
			case slices.Contains(components, component):
				mistakes = append(mistakes, fmt.Errorf("placement %q names %s twice", text, component))
			default:
				mistakes = append(mistakes, fmt.Errorf("placement %q names %q: use %s, %s, or groups of %s", text,
					component, Together, Apart, strings.Join(components, ", ")))
			}
		}
		units = append(units, unit)
	}
	if len(left) > 0 {
		units = append(units, left)
	}
	return units, errors.Join(mistakes...)
}

// Placed is a unit of a system, with its components.
type Placed struct {
	Name       string
	Components []string
}

// Units holds the units of a system that has a public interface. The first unit serves the interface.
type Units []Placed

// PlaceBehind divides a system into units, as Place does. front is the name of its public interface: in the
// text, the interface counts as a component. The unit with the interface comes first. Its name is front, or
// system if it has all components.
func PlaceBehind(text, front, system string, components []string) (Units, error) {
	groups, err := Place(text, append([]string{front}, components...))
	if err != nil {
		return nil, err
	}
	var units Units
	for _, group := range groups {
		// Placed.Components does not list the interface.
		behind := slices.DeleteFunc(slices.Clone(group), func(c string) bool { return c == front })
		switch {
		case len(behind) == len(group):
			units = append(units, Placed{UnitName(behind), behind})
		case len(behind) == len(components):
			units = slices.Insert(units, 0, Placed{system, behind})
		default:
			units = slices.Insert(units, 0, Placed{front, behind})
		}
	}
	return units, nil
}

// UnitName returns the name of a unit with these components: their names if there are up to three, or else
// the first and the number of the others.
func UnitName(components []string) string {
	if len(components) > 3 {
		return fmt.Sprintf("%s-and-%d", components[0], len(components)-1)
	}
	return strings.Join(components, "-")
}

// Front returns the unit with the public interface.
func (u Units) Front() Placed { return u[0] }

// IsFront reports whether the unit with a name has the public interface.
func (u Units) IsFront(name string) bool { return name == u.Front().Name }

// Names returns the names of all units.
func (u Units) Names() []string {
	var all []string
	for _, unit := range u {
		all = append(all, unit.Name)
	}
	return all
}

// Hosting returns the unit with a component. It panics if no unit has it.
func (u Units) Hosting(component string) Placed {
	return u[slices.IndexFunc(u, func(u Placed) bool { return slices.Contains(u.Components, component) })]
}

// Named returns the unit with a name, or an error.
func (u Units) Named(name string) (Placed, error) {
	i := slices.IndexFunc(u, func(u Placed) bool { return u.Name == name })
	if i < 0 {
		return Placed{}, fmt.Errorf("the design has no unit %q", name)
	}
	return u[i], nil
}
