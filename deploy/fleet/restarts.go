package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// firstRestart and longestRestart are the pauses before a unit is started again that has ended while
	// others start: each is twice the one before.
	firstRestart, longestRestart = 100 * time.Millisecond, 2 * time.Second
)

// startsAgain reports whether a unit that ended with an error is started again, and notes that it is. Once
// the load may begin its end is a failure.
func (s *Supervisor) startsAgain(u *Unit, how error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if how == nil || !u.Spec.Restarts || u.doomed || u.Prepares || s.loading || s.stopping {
		return false
	}
	u.again = true
	return true
}

// beginLoad ends the time in which units start again. It fails where one that has ended does not run yet.
func (s *Supervisor) beginLoad() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading = true
	for _, u := range s.units {
		if u != nil && u.HasEnded() && u.again {
			return fmt.Errorf("%v does not stay up: it ended: %w%s", u, u.outcome, u.Log.LastWords())
		}
	}
	return nil
}

// keepUp starts a unit again each time that it ends with an error before the load, as its file says: it may
// need others that are not there yet. Nothing is started once Stop has begun.
func (f *Fleet[L]) keepUp(life L) {
	defer f.keepers.Done()
	for pause := firstRestart; ; pause = min(2*pause, longestRestart) {
		u := life.unit()
		select {
		case <-u.Ended:
		case <-f.starting.Done():
			return
		}
		if !u.again {
			return
		}
		select {
		case <-time.After(pause):
		case <-f.starting.Done():
			return
		}
		next, err := f.platform.Next(f.starting, life, false)
		if err == nil {
			next.unit().WriteTo(u.Log)
			f.Add(next)
			err = next.Start(f.starting)
		}
		if err != nil {
			if f.starting.Err() == nil {
				f.Fail(fmt.Errorf("start unit %s again: %w", u.Spec.Name, err))
			}
			return
		}
		life = next
	}
}

// awaitReady waits until a unit can be used, in whichever of its lives.
func (f *Fleet[L]) awaitReady(ctx context.Context, spec lab.UnitSpec) error {
	life, runs := f.find(spec.Name)
	if !runs {
		return nil // its platform creates the replicas, under names of its own
	}
	ctx, cancel := life.unit().readyInTime(ctx)
	defer cancel()
	for {
		u := f.Named(spec.Name).unit()
		err := u.AwaitUsable(ctx, f.platform.Reach(spec.Name), atOnce)
		if err == nil || !u.HasEnded() || !u.again {
			return err
		}
		select {
		case <-time.After(lookAgain):
		case <-f.failed:
			return f.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
