package deploytest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// Foreign describes how a deployer runs a third party's container, which has no control connection. Its image
// has the suite's program.
type Foreign struct {
	// Unit returns the unit Boxed, whose program plays a part of the suite's. Its arguments are a folder that
	// outlives the container and an address to listen on.
	Unit func(part string) lab.UnitSpec
	// Address is the address at which this host calls it; "" means its endpoint.
	Address string
}

// Boxed is the name of the unit that has no control connection.
const Boxed = "boxed"

// layout returns a layout of a burner and the container.
func (f Foreign) layout(part string) lab.Layout {
	boxed := f.Unit(part)
	boxed.Name = Boxed
	boxed.Role = "server"
	boxed.Foreign = true
	return burner(boxed)
}

// ForeignSuite runs the tests of a third party's container on a deployer whose unit program is that
// of Program. left is as in Suite.
func ForeignSuite(t *testing.T, deployer lab.Deployer, boxed Foreign, left func() []string) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *suite, Foreign)
	}{
		{"comes and goes", comesAndGoes},
		{"usage", boxedUsage},
		{"ends by itself", boxedEnds},
		{"killed and started again", boxedKilled},
		{"paused", boxedPaused},
		{"limit of memory", boxedLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{Deployer: deployer, dir: Folder(t)}
			defer s.leavesNothing(t, left)
			c.test(t, s, boxed)
		})
	}
}

// deploy deploys the container, waits until it answers, and returns its address, too.
func (f Foreign) deploy(t *testing.T, s *suite) (d lab.Deployment, at lab.Endpoint) {
	t.Helper()
	d = s.deploy(t, f.layout("boxed"))
	Await(t, d, lab.EventReady)
	at.Dial = f.Address
	if at.Dial == "" {
		at = endpointOf(t, d, Boxed)
	}
	awaitAnswer(t, d, Boxed, at, "boxed:1")
	return d, at
}

// comesAndGoes checks that the container is a unit without a report, which runs until Stop, and has a log.
func comesAndGoes(t *testing.T, s *suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
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
	expect(t, at, soon, "boxed:1", "after the reports, when the audit comes, it")
	stop(t, d)
	if log := d.Logs()[Boxed]; !strings.HasPrefix(log, "boxed listens, life 1\n") {
		t.Errorf("its log is %q", log)
	}
}

func boxedUsage(t *testing.T, s *suite, boxed Foreign) {
	d, _ := boxed.deploy(t, s)
	checkUsage(t, meteredJob(t, d))
}

func boxedEnds(t *testing.T, s *suite, boxed Foreign) {
	fails(t, s, boxed.layout("die"), "ended: exit status 1; its last words:\n", "out of luck")
}

// boxedKilled kills the container and starts it again: it keeps its folder, and answers as soon as it is
// healed.
func boxedKilled(t *testing.T, s *suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
	killAndRestart(t, d, Boxed, at)
	goesOn(t, d)
	checkUsage(t, meteredJob(t, d))
	logsThreeLives(t, d, Boxed)
}

func boxedLimited(t *testing.T, s *suite, boxed Foreign) {
	l := boxed.layout("hoard")
	if l.Units[1].Compose != nil {
		t.Skip("the limits of a service are in its compose file")
	}
	l.Units[1].Limits.Memory = 64 << 20
	fails(t, s, l, "ended: it needed more memory than its limit of 64 MiB")
}

// boxedPaused ends with a container that is paused, which Stop must remove nevertheless.
func boxedPaused(t *testing.T, s *suite, boxed Foreign) {
	d, at := boxed.deploy(t, s)
	harm(t, d, Boxed, lab.FaultPause)
	expect(t, at, silence, "", "the paused container")
	heal(t, d, Boxed, lab.FaultPause)
	expect(t, at, soon, "boxed:1", "the healed container")
	harm(t, d, Boxed, lab.FaultPause)
	goesOn(t, d)
}
