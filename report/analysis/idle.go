package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// idleMatters is the share of the CPU time of a load from which on it is told what of it the
// units use when nobody asks.
const idleMatters = 0.05

// noteIdle says where a cost per operation depends on how many operations there are: units
// that work while nobody asks do so under load, too, and the fewer operations share that,
// the more of it each has to bear.
func (e *experiment) noteIdle() {
	type part struct {
		share, cores float64
		words        string
	}
	var parts []part
	var rested []float64
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			var shares, cores []float64
			for _, trial := range e.counted(v.Name, point.Name) {
				if idle, used := idleOf(trial); used > 0 && trial.Metered.IdleSeconds > 0 {
					shares, cores = append(shares, idle/used), append(cores, idle)
					rested = append(rested, trial.Metered.IdleSeconds)
				}
			}
			if share := medianOrNone(shares); share > idleMatters {
				parts = append(parts, part{share, medianOrNone(cores), v.Name + " at " + point.Name})
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	var words []string
	for _, p := range parts[:min(len(parts), mostNamed)] {
		words = append(words, fmt.Sprintf("%s with %s (%s of one processor)", figure.Percent(min(p.share, 1)),
			p.words, figure.Percent(p.cores)))
	}
	if more := len(parts) - mostNamed; more > 0 {
		words = append(words, fmt.Sprintf("less in %d more", more))
	}
	e.note("Of the CPU per operation, up to %s is what the units use while nobody asks anything, as they did "+
		"for %s right before the load. At a higher rate more operations share it.",
		strings.Join(words, ", "), figure.Quantity(medianOrNone(rested), nil, nil, "s"))
}

// idleOf is how many processors a trial's system used before its load, and under it. 0 of
// what its roles cannot tell.
func idleOf(trial lab.Trial) (idle, used float64) {
	for role, u := range trial.Metered.Roles {
		if _, missing := u.Unavailable["cpu_seconds"]; missing {
			return 0, 0
		}
		if role != lab.RoleGenerator {
			idle, used = idle+u.IdleCores, used+u.CPUSeconds/trial.Metered.WindowSeconds
		}
	}
	return idle, used
}
