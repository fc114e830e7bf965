package analysis

import (
	"fmt"
	"maps"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
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
	var longest []lab.Trial
	shorter := map[string][]lab.Trial{}
	for _, trial := range e.trials {
		if at := trial.Point.Name; max(1, trial.Lengthened) < e.lengths[at] {
			shorter[at] = append(shorter[at], trial)
		} else {
			longest = append(longest, trial)
		}
	}
	e.shorter = len(e.trials) - len(longest)
	e.trials = longest
	for _, point := range e.study.Points {
		if times := e.lengths[point.Name]; times > 1 {
			e.note("Trials at %s were not steady as planned. Load and warm-up were made %g times as long there; %s "+
				"that were shorter do not count.%s",
				point.Name, times, figure.Count(len(shorter[point.Name]), "trial"),
				e.besideShorter(point.Name, shorter[point.Name]))
		}
	}
}

// besideShorter holds shorter trials against the longest, in the headline: how far what is
// measured hangs on how long a trial lasts.
func (e *experiment) besideShorter(point string, shorter []lab.Trial) string {
	metric, known := e.metric(e.headline())
	if !known {
		return ""
	}
	var parts []string
	for _, v := range e.variants() {
		was, is := medianOf(metric, v.Name, point, shorter), medianOf(metric, v.Name, point, e.trials)
		if was > 0 && is > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, %s", v.Name, figure.Amount(was, metric.Unit),
				figure.Amount(is, metric.Unit)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Their median %s, and that of these: %s.", metric.Name, strings.Join(parts, "; "))
}

// medianOf returns that of the valid trials of a variant at a point; 0 without any.
func medianOf(metric lab.Metric, variant, point string, trials []lab.Trial) float64 {
	var values []float64
	for _, trial := range trials {
		if value, measured := trial.Measures[metric.Name]; measured && trial.Valid && trial.Variant == variant &&
			trial.Point.Name == point && figure.Finite(value) {
			values = append(values, value)
		}
	}
	return stats.Median(values)
}

// loadSeconds returns how long the trials that count were measured under load, by point.
func (e *experiment) loadSeconds() map[string]float64 {
	seconds := map[string]float64{}
	for _, point := range e.study.Points {
		seconds[point.Name] = e.study.Load.Duration * max(1, e.lengths[point.Name])
	}
	return seconds
}

// leastChanging is how many trials must change within themselves before those that follow
// are made longer. Noise alone does so in fewer than one of twenty.
const leastChanging = 2

// Lengths implements lab.StoppingRule: at a point at which all trials of a variant change
// within themselves, those that follow are twice as long, as far as the design permits.
func (r Rule) Lengths(played []lab.Trial) map[string]float64 {
	e := r.after(played)
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

// twiceAsLong doubles the length factor of the trials at a point.
func (e *experiment) twiceAsLong(point string) float64 { return 2 * max(1, e.lengths[point]) }

// canLengthen reports whether the design permits that at a point.
func (e *experiment) canLengthen(point string) bool { return e.twiceAsLong(point) <= e.design.Lengthen }
