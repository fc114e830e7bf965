package meter

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestWhatUnitsUseBeforeTheFirstMark: the idle cores of a child that works before the first mark are its
// share of that time; those of the other child are zero.
func TestWhatUnitsUseBeforeTheFirstMark(t *testing.T) {
	busy := startChild(t, "busy", "busy")
	lazy := startChild(t, "lazy", "lazy")
	busy.do("burn 200") // before it is metered, so it must not count
	metering := watch(t, busy, lazy)
	before := busy.usage()
	busy.do("burn 100")
	used := busy.usage() - before
	time.Sleep(lab.ShortestIdle)
	for range 2 {
		testset.Must(t, metering.Mark())
	}
	m, err := metering.Stop()
	testset.Must(t, err)
	want := used.Seconds() / m.IdleSeconds
	if m.IdleSeconds < lab.ShortestIdle.Seconds()+used.Seconds() || m.Units[0].IdleCores < want ||
		m.Units[0].IdleCores > 1.2*want {
		t.Errorf("%g processors in %g s of rest, want %g", m.Units[0].IdleCores, m.IdleSeconds, want)
	}
	if idle := m.Roles["lazy"].IdleCores; idle < 0 || idle > want/10 || m.Total.IdleCores < want {
		t.Errorf("the other used %g processors, both %g", idle, m.Total.IdleCores)
	}
	if m.Total.CPUSeconds > used.Seconds()/10 {
		t.Errorf("%g s between the marks: what was used before counts", m.Total.CPUSeconds)
	}
}

func TestAShortRestTellsNothing(t *testing.T) {
	c := startChild(t, "core", "core")
	if m := between(t, func() {}, c); m.IdleSeconds != 0 || m.Total.IdleCores != 0 {
		t.Errorf("%g processors in %g s of rest", m.Total.IdleCores, m.IdleSeconds)
	}
}
