package architecture

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
)

// search holds the possible stops between two variants. Every stop is a set of changes
// that are done, as bits in the order of the changes. A way is a list of stops from no
// changes to all of them; a Path describes one.
type search struct {
	from, to lab.Variant
	settings map[string]string   // of from; idle knobs have their values of to
	changes  []lab.KnobChange    // in the order in which teams make them
	stops    map[int]lab.Variant // those that can be built
}

// mostChanges limits the changes of a search, since each of them doubles the number of stops to look at.
const mostChanges = 16

// newSearch returns the search with all stops between two variants.
func newSearch(from, to lab.Variant) (*search, error) {
	start, before, err := fullSettings(from)
	if err != nil {
		return nil, err
	}
	end, after, err := fullSettings(to)
	if err != nil {
		return nil, err
	}
	stockOf := func(binding string) string { return string(Binding(binding).Stock()) }
	align(start, end, before, after, stockOf)
	s := &search{from: from, to: to, settings: start, changes: changes(start, end), stops: map[int]lab.Variant{}}
	if len(s.changes) == 0 {
		return nil, fmt.Errorf("%s and %s are the same architecture: there is nothing to explain",
			asTyped(from), asTyped(to))
	}
	if len(s.changes) > mostChanges {
		return nil, fmt.Errorf("%d changes lead from %s to %s (of %s), and a path may have %d: "+
			"name an architecture in between, and explain both halves",
			len(s.changes), asTyped(from), asTyped(to), s.differences(), mostChanges)
	}
	ranks := order(joins(before, after))
	rank := func(c lab.KnobChange) int { return slices.Index(ranks, meant(c)) }
	slices.SortStableFunc(s.changes, func(a, b lab.KnobChange) int { return rank(a) - rank(b) })
	for mask := range 1 << len(s.changes) {
		if settings, possible := s.at(mask); possible && !s.tunesNothing(settings) {
			if stop, err := choose(settings, from.Architecture, to.Architecture); err == nil {
				s.stops[mask] = stop
			}
		}
	}
	s.stops[0] = from
	s.stops[s.all()] = to
	return s, nil
}

// all returns the set of all changes.
func (s *search) all() int { return 1<<len(s.changes) - 1 }

// joins reports whether one design becomes the other by joining units, or, if the number of units stays, by
// simpler coordination.
func joins(before, after Design) bool {
	if len(before.Units) != len(after.Units) {
		return len(before.Units) > len(after.Units)
	}
	return graded(before.Coordination) > graded(after.Coordination)
}

// graded returns the distance of a coordination from one transaction: 0 is one transaction.
func graded(c Coordination) int {
	return slices.Index([]Coordination{ACID, Orchestrated, TwoPhase, Brokered, Choreographed}, c)
}

// at returns the settings after the changes of a mask. It returns false if one of them builds on an earlier
// change of the same knob that is not in the mask.
func (s *search) at(mask int) (map[string]string, bool) {
	settings := maps.Clone(s.settings)
	for i, c := range s.changes {
		if mask&(1<<i) == 0 {
			continue
		}
		if settings[c.Knob] != c.From {
			return nil, false
		}
		settings[c.Knob] = c.To
	}
	return settings, true
}

// tunesNothing reports whether a changed knob has a value that is tuning, an addition to calls, or dual
// writes, but no effect in these settings. The knob of balancing has none without replicas; those of
// lab.Variant.Replicas do not count, since no path passes a variant that has some.
func (s *search) tunesNothing(settings map[string]string) bool {
	d, err := design("", settings)
	if err != nil {
		return false
	}
	replicated := slices.ContainsFunc(d.Units, func(u Unit) bool { return u.Replicas > 1 })
	return slices.ContainsFunc(s.changes, func(c lab.KnobChange) bool {
		value := settings[c.Knob]
		adds := kit.AddsToCalls(c.Knob, value) || !isStock(c.Knob, value) || value == string(DualWrite)
		lacksReplicas := c.Knob == kit.KnobBalancing && !replicated
		return adds && (lacksReplicas || d.idle(c.Knob))
	})
}

// costs are the costs of a way, the most important first: the number of knobs that are turned together with
// another, then the two results of a weigh function.
type costs [3]int

// reached is the cheapest way to a stop so far: its costs, and the stop before.
type reached struct {
	costs costs
	from  int
}

// best returns the cheapest way; nil if there is none. A change only adds bits to a mask, so one pass in
// rising order sees every way.
func (s *search) best(weigh func(done, turn int) (int, int)) []int {
	ways := map[int]reached{0: {}}
	for done := range s.all() {
		way, known := ways[done]
		if !known {
			continue
		}
		for _, turn := range s.turns(done) {
			a, b := weigh(done, turn)
			total := costs{way.costs[0] + bits.OnesCount(uint(turn)) - 1, way.costs[1] + a, way.costs[2] + b}
			if old, met := ways[done|turn]; !met || slices.Compare(total[:], old.costs[:]) < 0 {
				ways[done|turn] = reached{total, done}
			}
		}
	}
	if _, found := ways[s.all()]; !found {
		return nil
	}
	on := []int{s.all()}
	for on[0] != 0 {
		on = slices.Insert(on, 0, ways[on[0]].from)
	}
	return on
}

// turns returns the changes, single or two together, that lead to another stop.
func (s *search) turns(done int) []int {
	var found []int
	for i := range s.changes {
		for j := range i + 1 { // j == i: the change alone
			turn := 1<<i | 1<<j
			if _, stands := s.stops[done|turn]; stands && done&turn == 0 {
				found = append(found, turn)
			}
		}
	}
	return found
}

// asTeamsDo counts the changes already done that a team would make after those of a turn.
func (s *search) asTeamsDo(done, turn int) (int, int) {
	position := make([]int, len(s.changes))
	for i := range position {
		position[i] = i
	}
	return inversions(done, turn, position), 0
}

// inversions counts the pairs of a change already done and a change of the turn that are in the opposite
// order by their positions.
func inversions(done, turn int, position []int) int {
	n := 0
	for i := range position {
		if turn&(1<<i) == 0 {
			continue
		}
		for j := range position {
			if done&(1<<j) != 0 && position[j] > position[i] {
				n++
			}
		}
	}
	return n
}

// positions returns the step of a way at which each change is made.
func (s *search) positions(way []int) []int {
	position := make([]int, len(s.changes))
	for step := range len(way) - 1 {
		for i := range s.changes {
			if turn := way[step] ^ way[step+1]; turn&(1<<i) != 0 {
				position[i] = step
			}
		}
	}
	return position
}

// paths returns the path that a team would take, and the one most unlike it; see Paths.
func (s *search) paths() ([]Path, error) {
	first := s.best(s.asTeamsDo)
	if first == nil {
		return nil, fmt.Errorf("no way leads from %s to %s that turns at most two knobs at a time (%s differ): "+
			"name an architecture in between, and explain both halves",
			asTyped(s.from), asTyped(s.to), s.differences())
	}
	paths := []Path{s.path(first)}
	on := map[int]bool{}
	for _, mask := range first {
		on[mask] = true
	}
	position := s.positions(first)
	other := s.best(func(done, turn int) (int, int) {
		news := 0
		if !on[done|turn] {
			news = 1
		}
		return -inversions(done, turn, position), news
	})
	if !slices.Equal(other, first) {
		paths = append(paths, s.path(other))
	}
	return paths, nil
}

// path returns the path of a way. Its stops have the deployment of the first.
func (s *search) path(way []int) Path {
	var p Path
	for i, mask := range way {
		stop := lab.Variant{System: shop.Name, Deployment: s.from.Deployment,
			Architecture: s.stops[mask].Architecture, Knobs: s.stops[mask].Knobs}
		stop.Name = name(stop, s.changes)
		if p.Stops = append(p.Stops, stop); i == 0 {
			continue
		}
		step := lab.PathStep{Before: p.Stops[i-1].Name, Variant: stop.Name}
		for j, c := range s.changes {
			if (way[i-1]^mask)&(1<<j) != 0 {
				step.Changes = append(step.Changes, c)
			}
		}
		step.Tunes = tunes(step.Changes)
		step.Changes[len(step.Changes)-1].With = s.awakened(way[i-1], mask)
		p.Steps = append(p.Steps, step)
	}
	return p
}

// awakened returns the knobs that have an effect at one stop and had none before.
func (s *search) awakened(before, after int) string {
	was, err := New(s.stops[before].Architecture, s.stops[before].Knobs)
	is, err2 := New(s.stops[after].Architecture, s.stops[after].Knobs)
	if err != nil || err2 != nil {
		return "" // no stop is without a design
	}
	return awakened(was, is, s.settings)
}

// differences names the knobs that differ.
func (s *search) differences() string {
	var names []string
	for _, c := range s.changes {
		if !slices.Contains(names, c.Knob) {
			names = append(names, c.Knob)
		}
	}
	return strings.Join(names, ", ")
}
