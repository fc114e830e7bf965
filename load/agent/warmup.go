package agent

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/stats"
)

const (
	// warmUpSlice is the time between two checks whether a warm-up is over. It is short, so that a system
	// that is steady from the beginning passes within a few seconds.
	warmUpSlice = 250 * time.Millisecond
	// warmUpLeast is the shortest length of a warm-up, unless the load itself is shorter: a change that
	// takes a minute hardly shows within three seconds.
	warmUpLeast = 10 * time.Second
)

// warmUp plays a load before the agent is ready, for the time in the job or until the
// load is steady.
func (s *served) warmUp(ctx context.Context) error {
	longest := time.Duration(max(s.Warmup, s.WarmupLimit))
	if longest == 0 {
		return nil
	}
	load, err := s.trial.Warmup(longest)
	if err != nil {
		return err
	}
	hooks := s.hooks(true)
	if s.WarmupLimit > 0 {
		s.warm = &lab.WarmUp{}
		least := max(time.Duration(s.Warmup), min(s.trial.Duration(), warmUpLeast))
		hooks.Interval = warmUpSlice
		hooks.Enough = new(atomic.Bool)
		hooks.Second = func(second trial.Second) error {
			// After the longest time nothing begins: the load only waits for answers.
			if !hooks.Enough.Load() && second.Results.To <= longest {
				*s.warm = stats.WarmedUp(append(s.warm.Slices, slice(second)), false)
				hooks.Enough.Store(s.warm.Steady && second.Results.To >= least)
			}
			return nil
		}
	}
	if _, err := load.Play(ctx, hooks); err != nil {
		return err
	}
	if s.warm != nil && !hooks.Enough.Load() {
		*s.warm = stats.WarmedUp(s.warm.Slices, true)
	}
	_, err = s.settleBetween(ctx)
	return err
}
