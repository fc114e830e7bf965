package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// stopwatch measures the phases of a trial.
type stopwatch struct {
	phases []lab.Phase
	last   time.Time // end of the last phase; before the first one, the start of the trial
}

// lap records the end of a phase. The phase began when the one before it ended.
func (s *stopwatch) lap(phase lab.PhaseName) {
	now := time.Now()
	s.phases = append(s.phases, lab.Phase{Name: phase, Seconds: now.Sub(s.last).Seconds()})
	s.last = now
}
