package meter

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestAUnitThatIsKilledAndStartedAgainKeepsWhatItUsed: both lives count, but not the time before the
// first mark, nor that between the lives.
func TestAUnitThatIsKilledAndStartedAgainKeepsWhatItUsed(t *testing.T) {
	first := startChild(t, "orders", "shop")
	other := startChild(t, "stock", "shop")
	first.do("burn 1000") // before the window
	metering := watch(t, first, other)
	testset.Must(t, metering.Mark())
	first.do("burn 60")
	first.do("write 5000000")
	testset.Must(t, metering.Suspend("orders"))
	first.leave()
	second := startChild(t, "orders", "shop")
	testset.Must(t, metering.Resume(second.unit))
	second.do("burn 40")
	second.do("write 3000000")
	testset.Must(t, metering.Mark())
	metered, err := metering.Stop()
	testset.Must(t, err)
	killed := metered.Units[0]
	if killed.Unit.PID != second.unit.PID || killed.CPUSeconds < 0.1 || killed.CPUSeconds > 0.9 {
		t.Errorf("unit %+v used %.3f s, want the second life's number and both lives' 0.1 s, little more, and "+
			"not the 1 s before", killed.Unit, killed.CPUSeconds)
	}
	if killed.WrittenBytes < 8_000_000 {
		t.Errorf("%d bytes written, want those of both lives", killed.WrittenBytes)
	}
	if len(metered.Notes) != 1 || !strings.Contains(metered.Notes[0], "unit orders was read for the last time") {
		t.Errorf("notes %q, want one on what was not seen", metered.Notes)
	}
}

// TestAUnitMayStartAfterTheMetering: it uses nothing until then, and has a source afterwards.
func TestAUnitMayStartAfterTheMetering(t *testing.T) {
	metering, err := New().Watch(t.Context(), []lab.Unit{{Name: "spare", Role: "spare", Standby: true}})
	testset.Must(t, err)
	testset.Must(t, metering.Mark())
	c := startChild(t, "spare", "spare")
	testset.Must(t, metering.Resume(c.unit))
	c.do("burn 50")
	testset.Must(t, metering.Mark())
	m, err := metering.Stop()
	testset.Must(t, err)
	used, source := m.Units[0].CPUSeconds, m.Sources["spare"]
	if used < 0.05 || !strings.Contains(source, "/proc of its process") {
		t.Errorf("%.3f s read from %q, want 0.05 s and little more from /proc", used, source)
	}
}

func TestAMarkMayFallBetweenTwoLives(t *testing.T) {
	c := startChild(t, "orders", "shop")
	metering := watch(t, c)
	testset.Must(t, metering.Mark())
	c.do("burn 50")
	testset.Must(t, metering.Suspend("orders"))
	c.leave()
	if err := metering.Mark(); err != nil {
		t.Fatalf("mark while the unit is dead: %v", err)
	}
	metered, err := metering.Stop()
	if err != nil || metered.Total.CPUSeconds < 0.05 ||
		metered.Samples[len(metered.Samples)-1].MemoryBytes != 0 {
		t.Errorf("%.3f s, samples %v (%v), want the first life's 0.05 s and no memory of the dead",
			metered.Total.CPUSeconds, metered.Samples, err)
	}
}

func TestWhatCannotBeSuspendedOrResumed(t *testing.T) {
	c := startChild(t, "orders", "shop")
	metering := watch(t, c)
	for _, step := range []struct { // done in this order while the list is made
		want string // empty: it can
		err  error
	}{
		{`no unit "cellar"`, metering.Suspend("cellar")},
		{"it is not suspended", metering.Resume(c.unit)},
		{`no unit "attic"`, metering.Resume(lab.Unit{Name: "attic"})},
		{"", metering.Suspend("orders")},
		{`"orders" is suspended`, metering.Suspend("orders")},
		{"pid 2147483646) has gone", metering.Resume(lab.Unit{Name: "orders", PID: 2147483646})},
		{"", metering.Resume(c.unit)},
		{"it is not suspended", metering.Resume(c.unit)},
	} {
		if step.want == "" && step.err != nil || step.want != "" &&
			(step.err == nil || !strings.Contains(step.err.Error(), step.want)) {
			t.Errorf("%v, want %q", step.err, step.want)
		}
	}
}

// TestBothLivesOfAContainerCountTheirNetwork, although its counters start again at zero. The processes
// are those of the present life.
func TestBothLivesOfAContainerCountTheirNetwork(t *testing.T) {
	var all counters
	all.add(counters{received: 500, sent: 50, processes: make([]process, 3)}, 0)
	all.add(counters{received: 20, sent: 2, processes: make([]process, 1)}, 1)
	if all.received != 520 || all.sent != 52 || len(all.processes) != 1 {
		t.Errorf("%d bytes received, %d sent, %d processes; want 520, 52 and 1", all.received, all.sent,
			len(all.processes))
	}
}
