package rehearsalunit

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
)

// TestBurnsTakeTheCPUTimeThatTheyAreTo, by the clock of their thread, which other programs hardly affect.
func TestBurnsTakeTheCPUTimeThatTheyAreTo(t *testing.T) {
	best := math.Inf(1)
	for range 5 { // a core that is shared with others is slower for a while
		b := newBurner()
		took := threadCPU(func() {
			for range 100 {
				b.burn(200 * time.Microsecond)
			}
		})
		best = min(best, math.Abs(took.Seconds()/0.020-1))
	}
	if best > 0.15 {
		t.Errorf("burns are at least %.0f %% off", 100*best)
	}
}

// TestWaitsAreExact: a wait far below a millisecond does not take a millisecond, and the timer is reused.
func TestWaitsAreExact(t *testing.T) {
	s := &sleeper{}
	var took []time.Duration
	for range 100 {
		began := time.Now()
		testset.Must(t, s.sleep(200*time.Microsecond))
		took = append(took, time.Since(began))
		if wait := time.Since(began); wait < 200*time.Microsecond {
			t.Errorf("it waited %v", wait)
		}
		time.Sleep(2 * time.Millisecond) // the process falls idle
	}
	slices.Sort(took)
	// One in ten suffices: other programs may delay the rest, but a timer of the runtime is late nearly
	// always.
	if took[10] > 500*time.Microsecond {
		t.Errorf("nine in ten waits of 200µs took at least %v", took[10])
	}
	if len(s.free) != 1 || s.Close() != nil {
		t.Errorf("%d timers are left", len(s.free))
	}
}

// TestATimerThatFailsIsClosed: its descriptor is no timer's, so it cannot be set.
func TestATimerThatFailsIsClosed(t *testing.T) {
	file, err := os.Open(os.DevNull)
	testset.Must(t, err)
	s := &sleeper{free: []*timer{{int(file.Fd()), file}}}
	if err := s.sleep(time.Millisecond); err == nil || len(s.free) > 0 {
		t.Errorf("%v, %d timers are free", err, len(s.free))
	}
	if err := file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the timer is still open: %v", err)
	}
}

// TestShortWaitsNeedNoTimer, and take at least their time.
func TestShortWaitsNeedNoTimer(t *testing.T) {
	s := &sleeper{}
	for range 100 {
		began := time.Now()
		testset.Must(t, s.sleep(5*time.Microsecond))
		if wait := time.Since(began); wait < 5*time.Microsecond {
			t.Errorf("it waited %v", wait)
		}
	}
	if len(s.free) > 0 {
		t.Errorf("%d timers were made", len(s.free))
	}
}

// TestValuesHaveTheirDistribution: the mean of many drawn values is that of the model.
func TestValuesHaveTheirDistribution(t *testing.T) {
	d := model.Distribution{Mean: 3 * time.Millisecond, Quantiles: model.Quantiles{
		"min": 1 * time.Millisecond, "p50": 2 * time.Millisecond, "p99": 9 * time.Millisecond,
		"max": 20 * time.Millisecond}}
	sum := time.Duration(0)
	v := values(d.Points())
	const draws = 200_000
	for range draws {
		sum += v.draw()
	}
	if mean := (sum / draws).Seconds(); math.Abs(mean/d.Seconds()-1) > 0.01 {
		t.Errorf("the mean is %g s, want %g", mean, d.Seconds())
	}
	if got := values(model.Distribution{Mean: time.Second}.Points()).draw(); got != time.Second {
		t.Errorf("a constant is drawn as %v", got)
	}
	if got := values(model.Distribution{}.Points()).draw(); got != 0 {
		t.Errorf("nothing is drawn as %v", got)
	}
}

// TestCountsOutliveTheirUnit: a unit that opens the file again goes on counting.
func TestCountsOutliveTheirUnit(t *testing.T) {
	dir := t.TempDir()
	first, err := openCounts(dir, 2)
	testset.Must(t, err)
	first.add(1, served)
	second, err := openCounts(dir, 2) // as after a kill: nothing was closed
	testset.Must(t, err)
	second.add(1, served)
	if got := second.tallies(); len(got) != 2 || got[1].Served != 2 || second.served() != 2 {
		t.Errorf("the counts are %+v", got)
	}
	if first.Close() != nil || second.Close() != nil {
		t.Error("the counts cannot be closed")
	}
}
