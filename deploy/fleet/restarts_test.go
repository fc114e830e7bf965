package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// newRestarting returns a fleet of one unit that starts again, which runs.
func newRestarting(t *testing.T) *begun {
	t.Helper()
	layout := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{
		Name:      "front",
		Runnable:  lab.Runnable{Foreign: true, Image: "front", Container: &lab.ContainerSpec{}},
		Lifecycle: lab.Lifecycle{Restarts: true},
	}}}
	b := newBegun(t, layout, Platform[*life]{})
	if err := b.Begin(t.Context(), layout.Units, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// end ends the present life of the unit with an error.
func (b *begun) end() *life {
	front := b.Named("front")
	b.JudgeEnd(front.Unit, errors.New("exit status 1"))
	close(front.Ended)
	return front
}

// TestAUnitStartsAgainUntilTheLoad: then its end is a failure.
func TestAUnitStartsAgainUntilTheLoad(t *testing.T) {
	b := newRestarting(t)
	first := b.end()
	for deadline := time.Now().Add(time.Minute); b.Named("front") == first; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has no second life")
		}
	}
	if err := errors.Join(b.Failure(), b.beginLoad()); err != nil {
		t.Error(err)
	}
	b.end()
	if err := b.Failure(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("under load it ended, and the failure is %v", err)
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
}

// TestNoLoadBeginsWhileAUnitIsDown: nor does the unit start again once the trial ends.
func TestNoLoadBeginsWhileAUnitIsDown(t *testing.T) {
	b := newRestarting(t)
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
		t.Fatal("nobody starts it again")
	}
	if err := b.Command(lab.Command{Command: lab.CommandStart}); err == nil ||
		!strings.Contains(err.Error(), "does not stay up") {
		t.Errorf("the load begins with %v", err)
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
	starts := slices.DeleteFunc(b.noted, func(what string) bool { return what != "start front" })
	if len(starts) != 1 || b.Failure() != nil {
		t.Errorf("it was started %d times, with the failure %v", len(starts), b.Failure())
	}
}
