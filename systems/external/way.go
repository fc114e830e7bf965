package external

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// deploymentKnob is the name of a change of where a system runs.
const deploymentKnob = "deployment"

// way leads from one system to another, one change at a time.
type way struct {
	from, to []Definition // both ends in each deployment on the way
	all      []difference
}

// Steps returns the systems from one to another, and the steps between them, each of which
// changes one thing. Both are given in each deployment on the way. The names in order are changed first. A
// second order is the opposite of the first, as far as that can be; without others there is none.
func Steps(from, to []Definition, order []string, others bool) ([]Definition, []lab.PathStep, error) {
	a, b := from[0], to[len(to)-1]
	if a.Kind() != to[0].Kind() || a.RunsAlready() || a.Compose != nil {
		return nil, nil, fmt.Errorf("%s and %s cannot be changed into each other: give two compose files whose "+
			"services are units, two commands or two images, or compare them: cleave compare", a.Name, b.Name)
	}
	w := way{from, to, differencesOf(stateOf(a), stateOf(to[0]))}
	for i := 1; i < len(from); i++ {
		w.all = append(w.all, difference{KnobChange: lab.KnobChange{Knob: deploymentKnob,
			From: from[i-1].Deployment, To: from[i].Deployment}})
	}
	if len(w.all) == 0 {
		return nil, nil, fmt.Errorf("%s and %s are the same: there is nothing to explain", a.Name, b.Name)
	}
	wanted, err := w.ordered(order)
	if err != nil {
		return nil, nil, err
	}
	first, err := w.possible(wanted)
	if err != nil {
		return nil, nil, err
	}
	stops := []Definition{a}
	stops, steps := w.lead(stops, first, 1, "")
	if !others {
		return stops, steps, nil
	}
	slices.Reverse(wanted)
	second, err := w.possible(wanted)
	if err != nil || slices.Equal(second, first) {
		return stops, steps, nil // there is one order only
	}
	stops, more := w.lead(stops, second, 2, "back-")
	return stops, append(steps, more...), nil
}

// ordered returns the numbers of the changes in the order in which they are wanted: the named ones first.
func (w way) ordered(names []string) (wanted []int, err error) {
	var known []string
	for _, d := range w.all {
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
			if other == name && !slices.Contains(wanted, i) { // several for a deployment by way of others
				wanted = append(wanted, i)
			}
		}
	}
	for i := range w.all {
		if !slices.Contains(wanted, i) {
			wanted = append(wanted, i)
		}
	}
	return wanted, err
}

// possible returns the changes in the wanted order, but for those that have to wait for others: a way in for
// its service, one that leaves until nobody enters by it, and a deployment for the one before it.
func (w way) possible(wanted []int) ([]int, error) {
	var taken []int
	for len(taken) < len(wanted) {
		next := slices.IndexFunc(wanted, func(i int) bool {
			return !slices.Contains(taken, i) && w.at(append(slices.Clone(taken), i)).runs()
		})
		if next < 0 {
			return nil, fmt.Errorf("no order of the changes between %s and %s can be run one at a time",
				w.from[0].Name, w.to[0].Name)
		}
		taken = append(taken, wanted[next])
	}
	return taken, nil
}

// at returns the system after some changes.
func (w way) at(taken []int) stop {
	deployments, last := 0, -1
	for _, i := range taken {
		if w.all[i].Knob == deploymentKnob {
			if i < last {
				return stop{} // one is before the one that leads to it
			}
			deployments, last = deployments+1, i
		}
	}
	if first := len(w.all) - len(w.from) + 1; deployments > 0 && last-first+1 != deployments {
		return stop{}
	}
	s := stop{Definition: w.from[deployments]}
	s.state = stateOf(s.Definition)
	to := stateOf(w.to[deployments])
	s.state.prepare(to)
	for i, d := range w.all { // in their own order, since all take what they need by its name
		if d.take != nil && slices.Contains(taken, i) {
			d.take(&s.state, to)
		}
	}
	s.state.finish()
	if len(taken) == len(w.all) {
		s.Definition = w.to[len(w.to)-1]
		s.state = stateOf(s.Definition)
	}
	return s
}

// prepare has the services that both systems have start after all that either says, of what comes and goes.
func (s *state) prepare(to state) {
	for i := range s.Services {
		own := &s.Services[i]
		other := to.service(own.Name)
		own.After = slices.Clone(own.After)
		if other == nil {
			continue
		}
		for _, name := range other.After {
			if s.service(name) == nil {
				own.After = append(own.After, name)
			}
		}
	}
}

// finish leaves out what is waited for and not there.
func (s *state) finish() {
	for i := range s.Services {
		s.Services[i].After = slices.DeleteFunc(slices.Clone(s.Services[i].After), func(name string) bool {
			return s.service(name) == nil
		})
	}
}

// stop is a system on a way.
type stop struct {
	Definition
	state state
}

// runs reports whether the system can run: where it is entered is there, and no services wait for each other.
func (s stop) runs() bool {
	if s.Name == "" || len(s.state.Services) > 0 && s.state.service(s.state.Entry) == nil {
		return false
	}
	started := map[string]bool{}
	for range s.state.Services {
		for _, one := range s.state.Services {
			started[one.Name] = started[one.Name] ||
				!slices.ContainsFunc(one.After, func(name string) bool { return !started[name] })
		}
	}
	return !slices.ContainsFunc(s.state.Services, func(one lab.SystemService) bool { return !started[one.Name] })
}

// lead adds the stops of one order to those that there are, and returns its steps.
func (w way) lead(stops []Definition, order []int, number int, prefix string) ([]Definition, []lab.PathStep) {
	before := stops[0].Name
	var steps []lab.PathStep
	for n := range order {
		s := w.at(order[:n+1])
		next := s.Definition
		if n+1 < len(order) {
			change := w.all[order[n]]
			name := notInSystemNames.ReplaceAllString(strings.ToLower(change.Knob), "-")
			if change.Knob == deploymentKnob {
				name = change.To
			}
			next.Name = fmt.Sprintf("%s%d-%s", prefix, n+1, name)
			next.Name = strings.TrimRight(next.Name[:min(len(next.Name), maxName)], "-.")
			next.ExternalSystem, next.Replicas, next.Limits = s.state.ExternalSystem, s.state.replicas, s.state.limits
		}
		if n+1 < len(order) || number == 1 {
			stops = append(stops, next)
		}
		steps = append(steps, lab.PathStep{Order: number, Before: before, Variant: next.Name,
			Changes: []lab.KnobChange{w.all[order[n]].KnobChange}})
		before = next.Name
	}
	return stops, steps
}

// maxName limits names of systems, in bytes.
const maxName = 64
