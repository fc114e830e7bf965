package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// firstRestart and longestRestart bound the pause before a unit that has ended is started again. Each
	// pause is twice the one before.
	firstRestart, longestRestart = 100 * time.Millisecond, 2 * time.Second
	// endNotice bounds the wait for the supervisor to learn that a unit has ended. It reads the unit's log to
	// the end first, so that others may notice the end sooner.
	endNotice = 5 * time.Second
)

// startsAgain reports, and records, whether a unit that ended with an error is started again. Once the lead
// is ready no unit is.
func (s *Supervisor) startsAgain(u *Unit, how error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isTooLate := s.loading || s.stopping
	if how == nil || u.doomed || u.Prepares || isTooLate {
		return false
	}
	u.willRestart = u.Spec.Restarts
	return u.willRestart
}

// beginLoad ends the time in which units start again, so that meters that now read their processes read those
// under load. It fails if a unit that has ended cannot be used again yet.
func (s *Supervisor) beginLoad() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading = true
	for _, u := range s.units {
		switch {
		case u == nil:
		case u.willRestart:
			return fmt.Errorf("%v does not stay up: it ended: %w%s", u, u.outcome, u.Log.LastWords())
		case u.restarting.Load():
			return fmt.Errorf("%v does not stay up: it is being started again%s", u, u.Log.LastWords())
		}
	}
	return nil
}

// keepUp starts a unit again each time that it ends with an error before the load: it may need others that do
// not run yet. It starts nothing once Stop has begun.
func (f *Fleet[L]) keepUp(life L) {
	defer f.restarters.Done()
	for pause := firstRestart; ; pause = min(2*pause, longestRestart) {
		u := life.unit()
		select {
		case <-u.Ended:
		case <-f.starting.Done():
			return
		}
		if !u.willRestart {
			return
		}
		select {
		case <-time.After(pause):
		case <-f.starting.Done():
			return
		}
		next, err := f.next(f.starting, life, onSameNode)
		if err == nil {
			err = f.restart(next)
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

// restart starts a further life, and returns nil when it can be used, or when it has ended and is started
// again.
func (f *Fleet[L]) restart(life L) error {
	u := life.unit()
	u.restarting.Store(true)
	f.Add(life)
	if err := life.Start(f.starting); err != nil {
		return err
	}
	_, err := u.awaitUsable(f.starting, f.platform.Reach(u.Spec.Name))
	if err != nil && !u.endsToStartAgain(f.starting) {
		return err
	}
	u.restarting.Store(false)
	return nil
}

// endsToStartAgain reports whether a unit that could not be used has ended and is started again. It waits for
// the supervisor, which may learn of the end later than the caller.
func (u *Unit) endsToStartAgain(ctx context.Context) bool {
	if !u.Spec.Restarts {
		return false
	}
	select {
	case <-u.Ended:
	case <-ctx.Done():
	case <-time.After(endNotice):
	}
	return u.HasEnded() && u.willRestart
}

// awaitReady waits until any life of a unit can be used. It skips a life that is being started again, which
// may have no address yet.
func (f *Fleet[L]) awaitReady(ctx context.Context, spec lab.UnitSpec) error {
	life, runs := f.find(spec.Name)
	if !runs {
		return nil // its platform creates the replicas, under names of its own
	}
	ctx, cancel := life.unit().readyInTime(ctx)
	defer cancel()
	err := fmt.Errorf("unit %s is being started again", spec.Name)
	for {
		if u := f.Named(spec.Name).unit(); !u.restarting.Load() {
			_, err = u.awaitUsable(ctx, f.platform.Reach(spec.Name))
			if err == nil || !u.endsToStartAgain(ctx) {
				return err
			}
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
