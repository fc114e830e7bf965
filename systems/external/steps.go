package external

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// deploymentKnob is the name of a change of a system's deployment.
const deploymentKnob = "deployment"

// changePath holds the changes that turn one system into another.
type changePath struct {
	from, to []Definition // both systems, in each deployment of the path
	changes  []difference
}

// Steps returns a path from one system to another: the systems on it, and the steps between them, each of
// which makes one change. Both systems are given in each deployment of the path. The changes named in order
// come first. With others there is a second path, whose order is as far as possible the reverse of the first.
func Steps(from, to []Definition, order []string, others bool) ([]Definition, []lab.PathStep, error) {
	a, b := from[0], to[len(to)-1]
	if a.Kind() != to[0].Kind() || a.RunsAlready() || a.Compose != nil {
		return nil, nil, fmt.Errorf("%s and %s cannot be changed into each other: give two compose files whose "+
			"services are units, two commands or two images, or compare them: cleave compare", a.Name, b.Name)
	}
	path := changePath{from, to, differencesOf(a, to[0])}
	for i := 1; i < len(from); i++ {
		path.changes = append(path.changes, difference{KnobChange: lab.KnobChange{Knob: deploymentKnob,
			From: from[i-1].Deployment, To: from[i].Deployment}})
	}
	if len(path.changes) == 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: there is nothing to explain", a.Name, b.Name)
	}
	wanted, err := path.wantedOrder(order)
	if err != nil {
		return nil, nil, err
	}
	first, err := path.runnableOrder(wanted)
	if err != nil {
		return nil, nil, err
	}
	systems, steps := path.addSteps([]Definition{a}, first, 1, "")
	if !others {
		return systems, steps, nil
	}
	slices.Reverse(wanted)
	second, err := path.runnableOrder(wanted)
	if err != nil || slices.Equal(second, first) {
		return systems, steps, nil // there is no other order
	}
	systems, more := path.addSteps(systems, second, 2, "back-")
	return systems, append(steps, more...), nil
}

// wantedOrder returns the indices of the changes in the wanted order: the named ones come first.
func (c changePath) wantedOrder(names []string) (wanted []int, err error) {
	var known []string
	for _, d := range c.changes {
		known = append(known, d.Knob)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		switch {
		case i < 0:
			err = errors.Join(err, fmt.Errorf("--order: nothing changes that is called %q: there is %s", name,
				strings.Join(slices.Compact(slices.Clone(known)), ", ")))
		case slices.Contains(wanted, i):
			err = errors.Join(err, fmt.Errorf("--order names %q twice", name))
		}
		for i, other := range known {
			if other == name && !slices.Contains(wanted, i) { // deployment may be the name of several changes
				wanted = append(wanted, i)
			}
		}
	}
	for i := range c.changes {
		if !slices.Contains(wanted, i) {
			wanted = append(wanted, i)
		}
	}
	return wanted, err
}

// runnableOrder returns the changes in the wanted order, except that each comes late enough for the system to
// run after it. For example, a service is added before it becomes the entry point, and removed after another
// one did.
func (c changePath) runnableOrder(wanted []int) ([]int, error) {
	var applied []int
	for len(applied) < len(wanted) {
		next := slices.IndexFunc(wanted, func(i int) bool {
			if slices.Contains(applied, i) {
				return false
			}
			more := append(slices.Clone(applied), i)
			return c.after(more).canRun()
		})
		if next < 0 {
			return nil, fmt.Errorf("no order of the changes between %s and %s can be run one at a time",
				c.from[0].Name, c.to[0].Name)
		}
		applied = append(applied, wanted[next])
	}
	return applied, nil
}

// after returns the system after some changes, given by their indices. It is the zero value if they skip a
// deployment of the path.
func (c changePath) after(applied []int) Definition {
	deployments, last := 0, -1
	for _, i := range applied {
		if c.changes[i].Knob == deploymentKnob {
			if i < last {
				return Definition{} // deployments change in the order of the path
			}
			deployments, last = deployments+1, i
		}
	}
	// The changes of the deployment are the last ones of c.changes, one less than there are deployments.
	if first := len(c.changes) - len(c.from) + 1; deployments > 0 && last-first+1 != deployments {
		return Definition{} // one of them was skipped
	}
	if len(applied) == len(c.changes) {
		return c.to[deployments]
	}
	system := c.from[deployments].changeable()
	to := c.to[deployments]
	system.startAfterAdded(to)
	for i, d := range c.changes { // services are added before other changes refer to them
		if d.apply != nil && slices.Contains(applied, i) {
			d.apply(&system, to)
		}
	}
	system.dropMissingDependencies()
	return system
}

// startAfterAdded makes the services of both systems also start after services that only the second system
// has, which are added later.
func (d *Definition) startAfterAdded(to Definition) {
	for i := range d.Services {
		own := &d.Services[i]
		other := to.service(own.Name)
		own.After = slices.Clone(own.After)
		if other == nil {
			continue
		}
		for _, name := range other.After {
			if d.service(name) == nil {
				own.After = append(own.After, name)
			}
		}
	}
}

// dropMissingDependencies removes dependencies on services that the system does not have.
func (d *Definition) dropMissingDependencies() {
	for i := range d.Services {
		d.Services[i].After = slices.DeleteFunc(slices.Clone(d.Services[i].After), func(name string) bool {
			return d.service(name) == nil
		})
	}
}

// canRun reports whether the system can run: its entry point exists, and the services that start after others
// form no cycle. The zero value cannot.
func (d Definition) canRun() bool {
	hasEntry := len(d.Services) == 0 || d.service(d.Entry) != nil
	if d.Name == "" || !hasEntry {
		return false
	}
	started := map[string]bool{}
	for range d.Services {
		for _, one := range d.Services {
			started[one.Name] = started[one.Name] ||
				!slices.ContainsFunc(one.After, func(name string) bool { return !started[name] })
		}
	}
	return !slices.ContainsFunc(d.Services, func(one lab.SystemService) bool { return !started[one.Name] })
}

// addSteps adds the systems of an order of the changes, the path with this number, to a list of systems, and
// returns its steps as well. Both paths end with the same system: the first adds it.
func (c changePath) addSteps(
	systems []Definition, order []int, number int, prefix string,
) ([]Definition, []lab.PathStep) {
	before := systems[0].Name
	var steps []lab.PathStep
	for n := range order {
		next := c.after(order[:n+1])
		if n+1 < len(order) {
			change := c.changes[order[n]]
			name := change.Knob
			if name == deploymentKnob {
				name = change.To
			}
			next.Name = loaded.NameOf(fmt.Sprintf("%s%d-%s", prefix, n+1, name))
		}
		if n+1 < len(order) || number == 1 {
			systems = append(systems, next)
		}
		steps = append(steps, lab.PathStep{Order: number, Before: before, Variant: next.Name,
			Changes: []lab.KnobChange{c.changes[order[n]].KnobChange}})
		before = next.Name
	}
	return systems, steps
}
