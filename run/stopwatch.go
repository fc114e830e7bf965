package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// stopwatch measures the phases of a trial.
type stopwatch struct {
	phases []lab.Phase
	last   time.Time
}

// lap ends a phase, which began at the end of the last one.
func (s *stopwatch) lap(phase lab.PhaseName) {
	now := time.Now()
	s.phases = append(s.phases, lab.Phase{Name: phase, Seconds: now.Sub(s.last).Seconds()})
	s.last = now
}
