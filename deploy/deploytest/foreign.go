package deploytest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Foreign is how a deployer runs a container that somebody else has made, and that speaks
// nothing: it has the suite's program.
type Foreign struct {
	// Unit is the unit Boxed, whose program plays a part. It is told a folder that it keeps and
	// an address to listen on.
	Unit func(part string) lab.UnitSpec
	// Address is where this host calls it; "": at its endpoint.
	Address string
}

// Boxed is the name of the container that speaks nothing.
const Boxed = "boxed"

// layout returns a lead that waits for nobody, and the container.
func (f Foreign) layout(part string) lab.Layout {
	boxed := f.Unit(part)
	boxed.Name, boxed.Role, boxed.Foreign = Boxed, "server", true
	lead := lab.UnitSpec{Name: "lead", Role: "lead", Runnable: lab.Runnable{Args: []string{"burner"}}}
	return lab.Layout{Lead: "lead", Units: []lab.UnitSpec{lead, boxed}}
}

// ForeignSuite runs the tests of such containers on a deployer whose unit program is that of
// Program; see Suite.
func ForeignSuite(t *testing.T, deployer lab.Deployer, boxed Foreign, left func() []string) {
	for _, c := range []struct {
		name string
		test func(*testing.T, suite, Foreign)
	}{
		{"comes and goes", comesAndGoes},
		{"usage", boxedUsage},
		{"ends by itself", boxedEnds},
		{"killed and started again", boxedKilled},
		{"paused", boxedPaused},
		{"limit of memory", boxedLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := suite{deployer, Folder(t), ""}
			c.test(t, s, boxed)
			s.leavesNothing(t, left)
		})
	}
}

// deploy deploys the container, which may take its time until it listens. The caller stops it.
func (f Foreign) deploy(t *testing.T, s suite) (d lab.Deployment, at lab.Endpoint) {
	t.Helper()
	d = s.deploy(t, f.layout("boxed"))
	answered := false
	defer func() {
		if !answered {
			stop(t, d)
		}
	}()
	Await(t, d, lab.EventReady)
	at.Dial = f.Address
	if at.Dial == "" {
		at = endpointOf(t, d, Boxed)
	}
	for deadline := time.Now().Add(patience); said(at, silence) != "boxed:1"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it says %q, want boxed:1; its log: %s", said(at, silence), d.Logs()[Boxed])
		}
	}
	answered = true
	return d, at
}

func comesAndGoes(t *testing.T, s suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
	defer stop(t, d)
	finish(t, d)
	units := d.Units()
	i := slices.IndexFunc(units, func(u lab.Unit) bool { return u.Name == Boxed })
	if len(units) != 2 || i < 0 || units[i].Role != "server" || units[i].PID == 0 ||
		units[i].Span != lab.SpanContainer {
		t.Fatalf("units %+v, want the container's processes", units)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", units[i].PID)); err != nil ||
		!strings.Contains(string(text), "boxed") {
		t.Errorf("the unit's process runs %q (%v), want the container's program", text, err)
	}
	refuses(t, d, lab.Fault{Target: "lead", Kind: lab.FaultKill}, "leads the trial")
	if reports := reportsOf(t, d); len(reports) != 1 || reports[0].Unit != "lead" {
		t.Errorf("reports %+v, want that of the lead", reports)
	}
	if text := said(at, soon); text != "boxed:1" {
		t.Errorf("after the reports, when the audit comes, it says %q", text)
	}
	stop(t, d)
	if log := d.Logs()[Boxed]; !strings.HasPrefix(log, "boxed listens, life 1\n") {
		t.Errorf("its log is %q", log)
	}
}

func boxedUsage(t *testing.T, s suite, boxed Foreign) {
	d, _ := boxed.deploy(t, s)
	defer stop(t, d)
	checkUsage(t, meteredJob(t, d))
}

func boxedEnds(t *testing.T, s suite, boxed Foreign) {
	fails(t, s, boxed.layout("die"), "ended: exit status 1; its last words:\n", "out of luck")
}

// boxedKilled kills it and starts it again: it keeps its folder, and when it is healed it can be
// used at once.
func boxedKilled(t *testing.T, s suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
	defer stop(t, d)
	harm(t, d, Boxed, lab.FaultKill)
	time.Sleep(silence) // nobody but us shall start it again
	if text := said(at, silence); text != "" {
		t.Errorf("it was killed and says %q", text)
	}
	refuses(t, d, lab.Fault{Target: Boxed, Kind: lab.FaultKill})
	heal(t, d, Boxed, lab.FaultKill)
	if text := said(at, soon); text != "boxed:2" {
		t.Errorf("it says %q, want that this is its second life", text)
	}
	harm(t, d, Boxed, lab.FaultRestart)
	heal(t, d, Boxed, lab.FaultRestart)
	if text := said(at, soon); text != "boxed:3" {
		t.Errorf("it says %q after a restart, want its third life", text)
	}
	if err := d.Heal(Within(t), lab.Fault{Target: Boxed, Kind: lab.FaultKill}); err == nil {
		t.Error("it was not killed, and was started again")
	}
	goesOn(t, d)
	checkUsage(t, meteredJob(t, d))
	if log := d.Logs()[Boxed]; log != "boxed listens, life 1\nboxed listens, life 2\nboxed listens, life 3\n" {
		t.Errorf("its log is %q, want that of all lives", log)
	}
}

func boxedLimited(t *testing.T, s suite, boxed Foreign) {
	l := boxed.layout("hoard")
	if l.Units[1].Compose != nil {
		s.skip(t, "the limits of a service are in its compose file")
	}
	l.Units[1].Limits.Memory = 64 << 20
	fails(t, s, l, "ended: it needed more memory than its limit of 64 MiB")
}

// boxedPaused ends with a container that is paused, which shall go all the same.
func boxedPaused(t *testing.T, s suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
	defer stop(t, d)
	harm(t, d, Boxed, lab.FaultPause)
	if text := said(at, silence); text != "" {
		t.Errorf("it is paused and says %q", text)
	}
	heal(t, d, Boxed, lab.FaultPause)
	if text := said(at, soon); text != "boxed:1" {
		t.Errorf("it says %q when it goes on", text)
	}
	harm(t, d, Boxed, lab.FaultPause)
	goesOn(t, d)
}
