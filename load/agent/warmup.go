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
	conclude := func() {}
	if s.WarmupLimit > 0 {
		conclude = s.endWhenSteady(&hooks, longest)
	}
	if _, err := load.Play(ctx, hooks); err != nil {
		return err
	}
	conclude()
	_, err = s.settleBetween(ctx)
	return err
}

// endWhenSteady lets hooks end a warm-up when its load is steady. It returns a function to call after the
// load, which judges a warm-up that has reached its longest time.
func (s *served) endWhenSteady(hooks *trial.Hooks, longest time.Duration) (conclude func()) {
	enough := new(atomic.Bool)
	least := min(s.trial.Duration(), warmUpLeast)
	least = max(least, time.Duration(s.Warmup))
	s.warm = &lab.WarmUp{}
	hooks.Interval = warmUpSlice
	hooks.Enough = enough
	hooks.Second = func(second trial.Second) error {
		to := second.Results.To
		if enough.Load() || to > longest { // nothing begins any more: the load only waits for answers
			return nil
		}
		*s.warm = stats.WarmedUp(append(s.warm.Slices, slice(second)), false)
		enough.Store(s.warm.Steady && to >= least)
		return nil
	}
	return func() {
		if !enough.Load() {
			*s.warm = stats.WarmedUp(s.warm.Slices, true)
		}
	}
}
