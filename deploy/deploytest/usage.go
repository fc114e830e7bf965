package deploytest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

// usage has the lead burn processor time, and checks what the meter of the deployment reads of all units.
func usage(t *testing.T, s *suite) {
	l := Layout("front")
	l.Units[0].Args[0] = "burner"
	d := s.deploy(t, l)
	Await(t, d, lab.EventReady)
	checkUsage(t, meteredJob(t, d))
	end(t, d)
}

// meteredJob has a lead that is ready do its job, and returns the usage of all units meanwhile.
func meteredJob(t *testing.T, d lab.Deployment) lab.Metered {
	t.Helper()
	reads := lab.Meter(meter.New())
	if own := d.Meter(); own != nil {
		reads = own
	}
	return meteredDuring(t, reads, d.Units(), func() { finish(t, d) })
}

// meteredDuring returns the usage of units while do runs.
func meteredDuring(t *testing.T, reads lab.Meter, units []lab.Unit, do func()) lab.Metered {
	t.Helper()
	metering, err := reads.Watch(t.Context(), units)
	testset.Must(t, err)
	testset.Must(t, metering.Mark())
	do()
	err = metering.Mark()
	metered, stopped := metering.Stop()
	testset.Must(t, errors.Join(err, stopped))
	return metered
}

// checkUsage checks what was metered of a lead that did its job and of a server that only listened.
func checkUsage(t *testing.T, metered lab.Metered) {
	t.Helper()
	if used := metered.Roles["lead"].CPUSeconds; used < 0.9*Burnt || used > 1.5*Burnt {
		t.Errorf("the lead has used %g s, want about %g", used, Burnt)
	}
	if used := metered.Roles["server"].CPUSeconds; used > 0.3*Burnt {
		t.Errorf("a unit that only listens has used %g s", used)
	}
	if memory := metered.Roles["server"].PeakMemoryBytes; memory < 100<<10 || memory > 200<<20 {
		t.Errorf("a unit that only listens takes %d bytes of memory", memory)
	}
}

// limits checks that a lead with a fifth of a processor takes five times as long for its job, and that
// Preflight refuses limits that are larger than the host.
func limits(t *testing.T, s *suite) {
	l := Layout("front", "views")
	l.Units[1].Limits.CPU = 1e4
	l.Units[2].Limits.Memory = 1 << 50
	Says(t, s.Preflight(t.Context(), l), "front cannot be limited to 10000 processors",
		"views cannot be limited to 1125899906842624 bytes")
	l = Layout("front")
	l.Units[0].Args[0] = "burner"
	l.Units[0].Limits = lab.Limits{CPU: 0.2, Memory: 128 << 20}
	d := s.deploy(t, l)
	Await(t, d, lab.EventReady)
	// The kernel may grant the quota of one period at once.
	if took, least := finish(t, d), 0.9*Burnt/l.Units[0].Limits.CPU; took < least {
		t.Errorf("the job took %g s, want at least %g with %s", took, least, l.Units[0].Limits)
	}
	end(t, d)
}

// limitOfMemory checks that a unit that needs more memory than its limit fails the trial with that reason.
func limitOfMemory(t *testing.T, s *suite) {
	l := withViews("hoard")
	l.Units[1].Limits.Memory = 64 << 20
	fails(t, s, l, "unit views ended: it needed more memory than its limit of 64 MiB")
}

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
