package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// trialKind groups trials that take about the same time; the empty one groups all trials.
type trialKind struct{ variant, point string }

// timeSpent is the time that trials took, including all attempts.
type timeSpent struct {
	seconds float64
	trials  map[int]bool
}

// estimateTime estimates the time of the next trials: the mean of earlier trials of their kind, else of all
// trials, each at the length that its load has now.
func (l *looks) estimateTime(next []lab.PlannedTrial, before []lab.Trial) time.Duration {
	spent := map[trialKind]*timeSpent{}
	for _, trial := range before {
		at := trial.Point.Name
		seconds := lengthened(trial.Phases, max(1, l.lengths[at])/max(1, trial.Lengthened))
		for _, k := range []trialKind{{trial.Variant, at}, {}} {
			if spent[k] == nil {
				spent[k] = &timeSpent{trials: map[int]bool{}}
			}
			spent[k].seconds += seconds
			spent[k].trials[trial.Number] = true
		}
	}
	var sum float64
	for _, planned := range next {
		t := spent[trialKind{planned.Variant, planned.Point}]
		if t == nil {
			t = spent[trialKind{}]
		}
		if t != nil {
			sum += t.seconds / float64(len(t.trials))
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// lengthened returns the time in seconds that a trial would have taken with a load that is longer by a
// factor. That lengthens the warm-up, too, which is nearly all of the time until the lead unit is ready.
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
