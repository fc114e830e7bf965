package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// kind tells trials apart that take about as long; the empty one is all of them.
type kind struct{ variant, point string }

// took is how long trials were, with every attempt.
type took struct {
	seconds float64
	trials  map[int]bool
}

// reckon is about how long the next trials take: as long as their like took before, and so
// much longer as their loads have become, or as the mean of all where none was like them.
func (l *looks) reckon(next []lab.PlannedTrial, before []lab.Trial) time.Duration {
	spent := map[kind]*took{}
	for _, trial := range before {
		at := trial.Point.Name
		seconds := lengthened(trial.Phases, max(1, l.lengths[at])/max(1, trial.Lengthened))
		for _, k := range []kind{{trial.Variant, at}, {}} {
			if spent[k] == nil {
				spent[k] = &took{trials: map[int]bool{}}
			}
			spent[k].seconds += seconds
			spent[k].trials[trial.Number] = true
		}
	}
	var sum float64
	for _, planned := range next {
		t := spent[kind{planned.Variant, planned.Point}]
		if t == nil {
			t = spent[kind{}]
		}
		if t != nil {
			sum += t.seconds / float64(len(t.trials))
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// lengthened returns how long a trial takes whose load is so many times as long. The warm-up, which
// becomes longer as well, is nearly all of the time until the lead unit is ready.
func lengthened(phases []lab.Phase, times float64) float64 {
	var sum float64
	for _, phase := range phases {
		if phase.Name == lab.PhaseJob || phase.Name == lab.PhaseReady {
			sum += times * phase.Seconds
		} else {
			sum += phase.Seconds
		}
	}
	return sum
}
