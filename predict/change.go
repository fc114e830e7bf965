package predict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/model"
)

// Change is another placement of the components of a model.
type Change struct {
	// Split names groups of components; each becomes a unit with one replica. A group that is a unit already
	// keeps its replicas.
	Split [][]string
	// Merge names units, by their own name or that of a component; together they become one.
	Merge []string
	// Replicas of units by their name.
	Replicas map[string]int
	// Stores chooses the parts that get stores of their own; empty is SharedStores.
	Stores Stores
}

// Stores is the part of a system that has a copy of each store that it visits. A copy has as many workers as
// the store.
type Stores string

// The values of Stores.
const (
	SharedStores      Stores = "shared"    // none: the stores stay as the model has them
	StorePerUnit      Stores = "unit"      // every unit
	StorePerComponent Stores = "component" // every component
)

// Shared reports whether stores stay as the model has them.
func (s Stores) Shared() bool { return s == "" || s == SharedStores }

// Check returns an error for a value that is none of those above.
func (s Stores) Check() error {
	if s.Shared() || s == StorePerUnit || s == StorePerComponent {
		return nil
	}
	return fmt.Errorf("%q is unknown: use %s, %s or %s", string(s), SharedStores, StorePerUnit,
		StorePerComponent)
}

// ParseGroups reads groups as in "orders,payments+mail": components that are joined by a plus go together.
func ParseGroups(text string) (groups [][]string) {
	for group := range strings.SplitSeq(text, ",") {
		groups = append(groups, strings.Split(group, "+"))
	}
	return groups
}

// Apply returns the units of the model after the change: first splits, then merges, then replicas.
func (c Change) Apply(m model.Model) ([]model.Unit, error) {
	units := slices.Clone(m.Units)
	var err error
	for _, group := range c.Split {
		if units, err = split(units, group); err != nil {
			return nil, err
		}
	}
	if len(c.Merge) > 0 {
		if units, err = merge(units, c.Merge); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Replicas)) {
		replicas := c.Replicas[name]
		i := slices.IndexFunc(units, func(u model.Unit) bool { return u.Name == name })
		if i < 0 || replicas < 1 {
			return nil, fmt.Errorf("%d replicas of %q: want at least one of a unit, these are %s", replicas, name,
				strings.Join(names(units), ", "))
		}
		units[i].Replicas = replicas
	}
	return units, nil
}

// String returns the change in words.
func (c Change) String() string {
	var parts []string
	for _, group := range c.Split {
		parts = append(parts, strings.Join(group, " and ")+" apart")
	}
	if len(c.Merge) > 0 {
		parts = append(parts, strings.Join(c.Merge, " and ")+" in one unit")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Replicas)) {
		parts = append(parts, fmt.Sprintf("%s with %d replicas", name, c.Replicas[name]))
	}
	if !c.Stores.Shared() {
		parts = append(parts, "stores of its own for each "+string(c.Stores))
	}
	return strings.Join(parts, ", ")
}

// names returns the names of the units.
func names(units []model.Unit) (all []string) {
	for _, u := range units {
		all = append(all, u.Name)
	}
	return all
}

// unitOf returns the index of the unit that has a component; -1 if none has.
func unitOf(units []model.Unit, component string) int {
	return model.Model{Units: units}.UnitOf(component)
}

// isUnit reports whether a group has exactly the components of a unit.
func isUnit(u model.Unit, group []string) bool {
	has := slices.Sorted(slices.Values(u.Components))
	wanted := slices.Sorted(slices.Values(group))
	return slices.Equal(has, wanted)
}

// split moves components into a unit of their own, with one replica. If they are all components of one unit,
// the new unit has as many replicas as that one. It gets the limits of the unit that its first component
// leaves.
func split(units []model.Unit, group []string) ([]model.Unit, error) {
	apart := model.Unit{Name: strings.Join(group, "+"), Components: group, Replicas: 1}
	if i := slices.IndexFunc(units, func(u model.Unit) bool { return isUnit(u, group) }); i >= 0 {
		apart.Replicas = units[i].Replicas
	}
	for i, component := range group {
		from := unitOf(units, component)
		if from < 0 || slices.Contains(group[:i], component) {
			return nil, fmt.Errorf("cannot split off %q: the model has no such component, or it is named twice; "+
				"it has %s", component, strings.Join(model.Model{Units: units}.Components(), ", "))
		}
		left := units[from]
		if i == 0 {
			apart.Cores = left.Cores
			apart.Workers = left.Workers
		}
		left.Components = slices.DeleteFunc(slices.Clone(left.Components),
			func(c string) bool { return c == component })
		units[from] = left
	}
	units = slices.DeleteFunc(units, func(u model.Unit) bool { return len(u.Components) == 0 })
	if slices.Contains(names(units), apart.Name) {
		apart.Name += " apart"
	}
	return append(units, apart), nil
}

// merge joins units. The joint unit has as many replicas as the largest of them. Their limits add up; if one
// has no limit, neither has the joint unit.
func merge(units []model.Unit, named []string) ([]model.Unit, error) {
	var joint []int
	for _, name := range named {
		i := slices.Index(names(units), name)
		if i < 0 {
			i = unitOf(units, name)
		}
		if i < 0 {
			return nil, fmt.Errorf("cannot merge %q: the model has no such unit or component; its units are %s", name,
				strings.Join(names(units), ", "))
		}
		if !slices.Contains(joint, i) {
			joint = append(joint, i)
		}
	}
	if len(joint) < 2 {
		return nil, fmt.Errorf("cannot merge %s: all of it is in the unit %s", strings.Join(named, ", "),
			units[joint[0]].Name)
	}
	one := units[joint[0]]
	one.Components = slices.Clone(one.Components)
	for _, i := range joint[1:] {
		u := units[i]
		one.Name += "+" + u.Name
		one.Components = append(one.Components, u.Components...)
		one.Replicas = max(one.Replicas, u.Replicas)
		one.Cores, one.Workers = one.JointLimits(u)
	}
	var all []model.Unit
	for i, u := range units {
		if !slices.Contains(joint, i) {
			all = append(all, u)
		}
	}
	return append(all, one), nil
}
