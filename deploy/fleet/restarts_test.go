package fleet

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// restarting returns a layout of one unit that starts again.
func restarting() lab.Layout {
	return lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{
		Name:      "front",
		Runnable:  lab.Runnable{Foreign: true, Image: "front", Container: &lab.ContainerSpec{}},
		Lifecycle: lab.Lifecycle{Restarts: true},
	}}}
}

// newRestarting returns a running fleet of one unit that starts again.
func newRestarting(t *testing.T, platform Platform[*life]) *recorded {
	t.Helper()
	layout := restarting()
	b := newRecorded(t, layout, platform)
	testset.Must(t, b.Begin(t.Context(), layout.Units, nil))
	return b
}

// end ends the present life of the unit with an error, and returns it.
func (b *recorded) end() *life {
	front := b.Named("front")
	b.JudgeEnd(front.Unit, errors.New("exit status 1"))
	close(front.Ended)
	return front
}

// leadIsReady handles the event of the lead that it is ready.
func (b *recorded) leadIsReady() {
	b.handle(NewUnit(lab.UnitSpec{Name: "lead"}), lab.Event{Event: lab.EventReady})
}

// TestAUnitStartsAgainUntilTheLoad checks that a unit is started again before the load, and that its end is a
// failure afterwards.
func TestAUnitStartsAgainUntilTheLoad(t *testing.T) {
	b := newRestarting(t, Platform[*life]{})
	first := b.end()
	for deadline := time.Now().Add(time.Minute); b.Named("front") == first ||
		b.Named("front").Unit.restarting.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has no second life")
		}
	}
	b.leadIsReady()
	if _, err := b.Await(t.Context(), lab.EventReady); err != nil {
		t.Error(err)
	}
	b.end()
	deploytest.Says(t, b.Failure(), "exit status 1")
	deploytest.NoError(t, b.Stop())
}

// TestASuccessUnderLoadIsAFailure checks that a container may end with exit status 0 before the load and
// after it, but not under it.
func TestASuccessUnderLoadIsAFailure(t *testing.T) {
	s := NewSupervisor(restarting(), t.TempDir())
	lead := NewUnit(lab.UnitSpec{Name: "lead"})
	lead.Commands = io.Discard
	s.Add(lead)
	front := NewUnit(restarting().Units[0])
	s.JudgeEnd(front, nil)
	testset.Must(t, s.Command(lab.Command{Command: lab.CommandStart}))
	testset.Must(t, s.Command(lab.Command{Command: lab.CommandStop}))
	s.JudgeEnd(front, nil)
	deploytest.NoError(t, s.Failure())
	testset.Must(t, s.Command(lab.Command{Command: lab.CommandStart}))
	s.JudgeEnd(front, nil)
	deploytest.Says(t, s.Failure(), "front (front) ended under load, with exit status 0", "it wrote nothing")
}

// TestNothingStartsAgainWherePlatformsCannot checks that the end of a unit then fails the trial, with the
// last lines of its log.
func TestNothingStartsAgainWherePlatformsCannot(t *testing.T) {
	b := newRestarting(t, Platform[*life]{NoRestarts: true})
	_, _ = b.Named("front").Log.Write([]byte("no such host"))
	b.end()
	deploytest.Says(t, b.Failure(), "no such host")
	deploytest.NoError(t, b.Stop())
}

// TestNoLoadBeginsWhileAUnitIsDown checks that the trial fails if a unit is down when the lead is ready,
// and that Stop keeps the unit from starting again.
func TestNoLoadBeginsWhileAUnitIsDown(t *testing.T) {
	b := newRestarting(t, Platform[*life]{})
	asked := make(chan struct{})
	b.platform.Next = func(ctx context.Context, _ *life, _ bool) (*life, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b.end()
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("it is not started again")
	}
	b.refusesLoad(t, "does not stay up: it ended: exit status 1")
	deploytest.NoError(t, b.Stop())
	starts := slices.DeleteFunc(b.noted, func(call string) bool { return call != "start front" })
	if len(starts) != 1 {
		t.Errorf("it was started %d times", len(starts))
	}
}

// refusesLoad expects that the trial fails with these words when the lead is ready.
func (b *recorded) refusesLoad(t *testing.T, says string) {
	t.Helper()
	b.leadIsReady()
	if _, err := b.Await(t.Context(), lab.EventReady); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the load begins with %v, want %q", err, says)
	}
}

// TestNoLoadBeginsBeforeAFurtherLifeCanBeUsed checks that the trial fails if a unit has been started again
// but is not ready when the lead is.
func TestNoLoadBeginsBeforeAFurtherLifeCanBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRestarting(t, Platform[*life]{})
		b.platform.Next = func(_ context.Context, ended *life, _ bool) (*life, error) {
			next := &life{NewUnit(ended.Spec), b}
			next.Spec.Readiness.Healthy = true
			next.Healthy = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			return next, nil
		}
		first := b.end()
		time.Sleep(firstRestart)
		synctest.Wait()
		if !slices.Equal(b.noted[len(b.noted)-1:], []string{"start front"}) || b.Named("front") == first {
			t.Fatalf("it did %q, want a second start at last", b.noted)
		}
		b.refusesLoad(t, "does not stay up: it is being started again")
		deploytest.NoError(t, b.Stop())
	})
}

// TestReadinessIsThatOfAFurtherLife checks that Begin waits for a further life of a unit without looking at
// it before it has started, even if Begin notices the end of the first life before the supervisor does.
func TestReadinessIsThatOfAFurtherLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := restarting()
		layout.Units[0].Readiness.Healthy = true
		b := newRecorded(t, layout, Platform[*life]{})
		ends := make(chan struct{})
		up := make(chan struct{})
		b.platform.New = func(spec lab.UnitSpec) *life {
			l := &life{NewUnit(spec), b}
			l.Healthy = func(context.Context) error { <-ends; return errors.New("it ended before") }
			return l
		}
		b.platform.Next = func(_ context.Context, ended *life, _ bool) (*life, error) {
			l := &life{NewUnit(ended.Spec), b}
			started := false
			l.Healthy = func(context.Context) error {
				if !started {
					return errors.New("there is nothing to look at")
				}
				return nil
			}
			b.starting = func(*life) { <-up; started = true }
			return l, nil
		}
		began := make(chan error, 1)
		go func() { began <- b.Begin(t.Context(), layout.Units, nil) }()
		synctest.Wait()
		close(ends)
		time.Sleep(endNotice / 2) // meanwhile a supervisor would read the log
		b.end()
		time.Sleep(time.Second)
		select {
		case err := <-began:
			t.Errorf("it is ready before its further life is up: %v", err)
			close(up)
		default:
			close(up)
			deploytest.NoError(t, <-began)
		}
		synctest.Wait()
		deploytest.NoError(t, errors.Join(b.Failure(), b.beginLoad(), b.Stop()))
	})
}

// TestAFurtherLifeMayEnd checks that the next life is started if a further one ends before it is ready.
func TestAFurtherLifeMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRestarting(t, Platform[*life]{})
		lives := 1
		b.platform.Next = func(_ context.Context, ended *life, _ bool) (*life, error) {
			lives++
			l := &life{NewUnit(ended.Spec), b}
			last := lives == 3
			l.Spec.Readiness.Healthy = true
			l.Healthy = func(context.Context) error {
				if last {
					return nil
				}
				<-l.Ended
				return errors.New("it ended before")
			}
			return l, nil
		}
		b.end()
		time.Sleep(time.Second)
		b.end()
		time.Sleep(time.Second)
		synctest.Wait()
		if err := errors.Join(b.Failure(), b.beginLoad(), b.Stop()); err != nil || lives != 3 {
			t.Errorf("in %d lives: %v", lives, err)
		}
	})
}
