package deploytest

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

// Late is the time for which the part "serve-late" does not open its control connection.
const Late = 300 * time.Millisecond

// platform checks that the platform below the units reports how long their starts took, and that its daemons
// can be metered if they run on this host. A start ends on every platform when the unit's program has opened
// its control connection.
func platform(t *testing.T, s *suite) {
	l := Layout("front")
	l.Units[1].Args = []string{"serve-late"}
	d := s.play(t, l)
	defer end(t, d)
	cost := d.PlatformCost()
	for deadline := time.Now().Add(patience); len(cost.Starts) < 2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // on a busy host front may become ready after the lead's job
		cost = d.PlatformCost()
	}
	if len(cost.Starts) != 2 || cost.ReadySeconds <= 0 {
		t.Fatalf("its cost is %+v, want the start times of 2 units", cost)
	}
	for _, start := range cost.Starts {
		// The lead is ready last, as a rule; on a busy host front can take commands after that.
		isFront := start.Unit == l.Units[1].Name
		if isFront && start.Seconds < Late.Seconds() || !isFront && start.Seconds > cost.ReadySeconds {
			t.Errorf("%s took %g s, want %v or more for front, and for the lead at most %g s, which all took",
				start.Unit, start.Seconds, Late, cost.ReadySeconds)
		}
	}
	daemons, why := d.Daemons()
	if s.Name() == lab.Process {
		if len(cost.Images)+len(daemons) > 0 || cost.MadeSeconds+cost.ImagesSeconds > 0 || why != "" {
			t.Errorf("processes have a platform: %+v, %v, %q", cost, daemons, why)
		}
		return
	}
	if len(daemons) == 0 {
		if d.Meter() == nil || why == "" {
			t.Errorf("it reports no daemons (%q): want them, or its own meter and a reason", why)
		}
		return
	}
	if len(cost.Images) != 1 || cost.Images[0].Bytes <= 1<<20 || cost.ImagesSeconds <= 0 {
		t.Errorf("its cost is %+v, want the size and the time of one image", cost)
	}
	metered := meteredDuring(t, meter.New(), daemons, func() {})
	if memory := metered.Total.PeakMemoryBytes; memory < 10<<20 || memory > 4<<30 {
		t.Errorf("its daemons take %d bytes of memory: %+v", memory, metered.Processes)
	}
	for _, p := range metered.Processes {
		if p.Name == "unit" {
			t.Errorf("a unit is among its daemons: %+v", metered.Processes)
		}
	}
	t.Logf("%+v; %+v", cost, metered.Processes)
}

// checkNodes checks that every unit is on a named node if the deployer has several.
func checkNodes(t *testing.T, s *suite, d lab.Deployment) {
	t.Helper()
	l, err := lab.Layout{}.On(s.Deployer)
	testset.Must(t, err)
	for _, u := range d.Units() {
		if len(l.Nodes) > 0 && !strings.HasPrefix(d.NodeOf(u.Name), "node-") {
			t.Errorf("%s is on %q", u.Name, d.NodeOf(u.Name))
		}
	}
}
