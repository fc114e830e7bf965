package kit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Placements that have a name.
const (
	Together = "together" // all components in one unit
	Apart    = "apart"    // each in a unit of its own
)

// Place divides the components of a system into units. The text is Together, Apart, or groups
// such as "a+b,c"; components in none of the groups share one more. The error names every mistake.
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
				mistakes = append(mistakes, fmt.Errorf("placement %q puts %s into two units", text, component))
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
