package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// trialKind groups trials that take about the same time; its zero value groups all trials.
type trialKind struct{ variant, point string }

// timeSpent is the time that trials took, including all attempts.
type timeSpent struct {
	seconds float64
	trials  map[int]bool // their numbers: several attempts at a trial count once
}

// estimateTime estimates the time of the next trials: for each, the mean time of earlier trials of its kind,
// or of all trials if there are none of its kind. Earlier trials count as if their load had its present
// length.
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
	return lab.Seconds(sum)
}

// lengthened returns the time in seconds that a trial would have taken if its load had been longer by a
// factor. The phase in which units become ready is longer, too, because the warm-up is most of it.
func lengthened(phases []lab.Phase, factor float64) float64 {
	var sum float64
	for _, phase := range phases {
		if phase.Name == lab.PhaseJob || phase.Name == lab.PhaseReady {
			sum += factor * phase.Seconds
		} else {
			sum += phase.Seconds
		}
	}
	return sum
}
