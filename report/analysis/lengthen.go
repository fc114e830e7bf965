package analysis

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// keepLongest leaves the trials out that were shorter than others at their point: what is
// measured of a system that is not steady depends on how long it is loaded.
func (e *experiment) keepLongest() {
	e.lengths = map[string]float64{}
	for _, trial := range e.trials {
		if at := trial.Point.Name; trial.Lengthened > max(1, e.lengths[at]) {
			e.lengths[at] = trial.Lengthened
		}
	}
	shorter := map[string]int{}
	e.trials = slices.DeleteFunc(e.trials, func(trial lab.Trial) bool {
		at := trial.Point.Name
		if max(1, trial.Lengthened) >= e.lengths[at] {
			return false
		}
		shorter[at]++
		return true
	})
	for _, point := range e.study.Points {
		if times := e.lengths[point.Name]; times > 1 {
			e.note("Trials at %s were not steady as planned. Load and warm-up were made %g times as long there; %s "+
				"that were shorter do not count.",
				point.Name, times, count(shorter[point.Name], "trial"))
		}
	}
}

// leastChanging is how many trials must change within themselves before those that follow
// are made longer. Noise alone does so in fewer than one of twenty.
const leastChanging = 2

// Lengths implements lab.StoppingRule: at a point at which all trials of a variant change
// within themselves, those that follow are twice as long, as far as the design permits.
func (r Rule) Lengths(played []lab.Trial) map[string]float64 {
	in := r.Input
	in.Trials = played
	e := newExperiment(in)
	lengths := maps.Clone(e.lengths)
	for _, s := range e.steady {
		long, flat := 0, s.Courses[string(stats.Flat)]
		for course, trials := range s.Courses {
			if course != stats.TooShort {
				long += trials
			}
		}
		if long >= leastChanging && flat == 0 && e.canLengthen(s.Point.Name) {
			lengths[s.Point.Name] = e.twiceAsLong(s.Point.Name)
		}
	}
	return lengths
}

// twiceAsLong is twice as many times as long as planned as trials at a point are by now.
func (e *experiment) twiceAsLong(point string) float64 { return 2 * max(1, e.lengths[point]) }

// canLengthen reports whether the design permits that at a point.
func (e *experiment) canLengthen(point string) bool { return e.twiceAsLong(point) <= e.design.Lengthen }
