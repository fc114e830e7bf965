package run

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// stopwatch notes how long the phases of a trial take.
type stopwatch struct {
	phases []lab.Phase
	last   time.Time
}

// lap ends a phase, which began with the end of the one before.
func (s *stopwatch) lap(phase lab.PhaseName) {
	now := time.Now()
	s.phases = append(s.phases, lab.Phase{Name: phase, Seconds: now.Sub(s.last).Seconds()})
	s.last = now
}
