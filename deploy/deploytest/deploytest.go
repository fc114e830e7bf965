// Package deploytest tests every deployer for the same behaviour: what lab.Deployer and
// lab.Deployment promise, seen from the conductor and from the units. It is for tests
// only.
//
// Entry points: Suite; ForeignSuite for containers of third parties; Program for the unit program.
package deploytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/gobuild"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Burnt is the processor time, in seconds, that the job of a burner takes. A burner is a lead for tests that
// read its usage; the job of any other lead takes none.
const Burnt = 0.5

// patience bounds how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// Program builds the unit program of the suite and returns its path. It is linked
// statically, because its images have no libraries.
func Program(t *testing.T) string { return buildProgram(t, "unit", "deploy/deploytest/unit") }

// Starter builds the first process of containers on a user's nodes and returns its path.
func Starter(t *testing.T) string { return buildProgram(t, lab.StarterProgram, "cmd/unit/starter") }

// Agent builds the program that runs on a user's hosts and returns its path.
func Agent(t *testing.T) string { return buildProgram(t, "host-agent", "cmd/host-agent") }

// buildProgram builds the program of a folder of this repository, with a name, and returns its path.
func buildProgram(t *testing.T, name, from string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testset.Must(t, gobuild.Programs(path, nil, "github.com/cleave-lab/cleave/"+from))
	return path
}

// Suite runs all tests on a deployer whose unit program is that of Program. left lists
// what the deployer has left behind; after each test that must be nothing.
func Suite(t *testing.T, deployer lab.Deployer, left func() []string) {
	program := Program(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *suite)
	}{
		{"from start to reports", fromStartToReports},
		{"replicas", replicas},
		{"called at its own address", func(t *testing.T, s *suite) { reached(t, s, lab.ReachDirect) }},
		{"called at a port of its node", func(t *testing.T, s *suite) { reached(t, s, lab.ReachPublished) }},
		{"bound to processors", bound},
		{"usage", usage},
		{"platform", platform},
		{"a unit that gives up", unitThatGivesUp},
		{"a unit that ends", unitThatEnds},
		{"a unit that ends before it is reached", unitThatEndsUnreached},
		{"killed and started again", killedAndRestarted},
		{"the lead has no fault", leadIsNotHarmed},
		{"a unit is paused", func(t *testing.T, s *suite) { withFault(t, s, lab.FaultPause, "stock") }},
		{"a server is paused", func(t *testing.T, s *suite) { withFault(t, s, lab.FaultPause, "store") }},
		{"cut off", cutOff},
		{"slowed", slowed},
		{"links of nodes", linked},
		{"replicas are updated", updated},
		{"a node is emptied", drained},
		{"a node that cannot be emptied", pinned},
		{"a node is lost", lost},
		{"filled", filled},
		{"preparations", preparations},
		{"a preparation that fails", preparationThatFails},
		{"units that do not become ready", neverReady},
		{"a unit that shows that it is ready", shownReady},
		{"limits", limits},
		{"a limit of memory", limitOfMemory},
		{"a program in a folder", programInAFolder},
		{"what a program leaves", whatIsLeft},
		{"secrets of the host", secretsOfTheHost},
		{"a program that looks names up once", looksUpOnce},
		{"a server", server},
		{"a server that ends", serverThatEnds},
		{"a server that never answers", serverThatNeverAnswers},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{Deployer: deployer, dir: Folder(t), program: program}
			defer s.leavesNothing(t, left)
			c.test(t, s)
		})
	}
}

// suite holds the deployer and the folder of one test.
type suite struct {
	lab.Deployer
	dir      string // of the trial
	program  string // in a folder of its own
	deployed []lab.Deployment
}

// leavesNothing stops what the test has deployed, and expects that nothing is left of it.
func (s *suite) leavesNothing(t *testing.T, left func() []string) {
	t.Helper()
	for _, d := range s.deployed {
		stop(t, d)
	}
	if t.Skipped() {
		NoError(t, os.Remove(s.dir)) // a skipped test has deployed nothing that would remove it
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the trial's folder is still there: %v", err)
	}
	if things := left(); len(things) > 0 {
		t.Errorf("left behind: %q", things)
	}
}

// Layout returns a layout of a lead that calls the named units, and of these, which serve.
func Layout(names ...string) lab.Layout {
	l := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{
		Name: "lead", Role: "lead",
		Runnable:   lab.Runnable{Args: append([]string{"lead"}, names...)},
		Networking: lab.Networking{Peers: names},
	}}}
	for i, name := range names {
		l.Units = append(l.Units, lab.UnitSpec{
			Name: name, Role: "server",
			Runnable:   lab.Runnable{Args: []string{"serve"}},
			Lifecycle:  lab.Lifecycle{Stage: i},
			Networking: lab.Networking{Listens: true},
		})
	}
	return l
}

// loneLead returns a layout of a lead that calls no other unit, and of the given units.
func loneLead(units ...lab.UnitSpec) lab.Layout {
	l := Layout()
	l.Units = append(l.Units, units...)
	return l
}

// burner returns a layout as loneLead does, with a lead that burns processor time.
func burner(units ...lab.UnitSpec) lab.Layout {
	l := loneLead(units...)
	l.Units[0].Args[0] = "burner"
	return l
}

// fromStartToReports checks a whole trial: clocks, nodes, calls, reports, files that are handed over, logs,
// and that the units end stage by stage.
func fromStartToReports(t *testing.T, s *suite) {
	d := s.play(t, Layout("front", "stock", "views"))
	s.checkClocks(t, d, 4)
	checkNodes(t, s, d)
	answers(t, d, "stock", "stock:1")
	if _, err := d.Endpoint("lead"); err == nil {
		t.Error("a unit that does not listen has an endpoint")
	}
	reports := end(t, d)
	if want := `"front:1 stock:1 views:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
	var ended [3]int64
	for i, name := range []string{"front", "stock", "views"} {
		testset.Must(t, json.Unmarshal([]byte(reports[name]), &ended[i]))
		text, err := os.ReadFile(filepath.Join(d.HandedOver(), name+".lives"))
		if err != nil || string(text) != "|" {
			t.Errorf("%s has handed over %q (%v)", name, text, err)
		}
		if log := d.Logs()[name]; log != name+" listens, life 1\n" {
			t.Errorf("the log of %s is %q", name, log)
		}
	}
	if !slices.IsSorted(ended[:]) {
		t.Errorf("the stages ended at %d, want one after another", ended)
	}
	if _, logged := d.Logs()["lead"]; logged {
		t.Error("a unit that wrote nothing has a log")
	}
}

// checkClocks checks that the clock of every unit is read, unless the deployer knows that its units run on
// this host. In the tests one kernel runs them all, so each offset must be zero within its bound.
func (s *suite) checkClocks(t *testing.T, d lab.Deployment, units int) {
	t.Helper()
	if slices.Contains([]string{lab.Process, lab.DockerHost, lab.DockerBridge}, s.Name()) {
		units = 0
	}
	readings, err := d.Clocks(t.Context())
	if err != nil || len(readings) != units {
		t.Fatalf("the clocks of %d units are %+v, %v", units, readings, err)
	}
	for _, r := range readings {
		if !r.Shared || r.BoundSeconds <= 0 || math.Abs(r.OffsetSeconds) > r.BoundSeconds {
			t.Errorf("the one clock of this host is %+v", r)
		}
	}
}

// withViews returns a layout as loneLead does, with the unit views, which plays a part of the unit program.
func withViews(part string) lab.Layout {
	return loneLead(lab.UnitSpec{Name: "views", Role: "server", Runnable: lab.Runnable{Args: []string{part}}})
}

func unitThatGivesUp(t *testing.T, s *suite) {
	fails(t, s, withViews("die"), "unit views failed: out of luck")
}

func unitThatEnds(t *testing.T, s *suite) {
	fails(t, s, withViews("crash"), "unit views ended: exit status 3")
}

// unitThatEndsUnreached checks that a deployer that sees a program end stops waiting for its control
// connection.
func unitThatEndsUnreached(t *testing.T, s *suite) {
	begun := time.Now()
	fails(t, s, withViews("stillborn"), "unit views", "ended", "stillborn")
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("it took %v to notice", took)
	}
}

// fails deploys a layout and expects that the deployment, or the trial later, fails with an error that has
// these words.
func fails(t *testing.T, s *suite, l lab.Layout, want ...string) {
	t.Helper()
	d, err := s.Deploy(t.Context(), l, s.dir)
	if err == nil {
		s.deployed = append(s.deployed, d)
	}
	for err == nil { // the lead may become ready before the unit fails
		_, err = d.Await(Within(t), lab.EventReady)
	}
	Says(t, err, want...)
}

// killedAndRestarted checks that a unit keeps its address and its files when it is killed and restarted.
func killedAndRestarted(t *testing.T, s *suite) {
	if !slices.Contains(s.Can().Faults, lab.FaultKill) {
		t.Skip("nothing can be killed in this deployment")
	}
	d := s.deploy(t, Layout("front", "stock").PreparedFor([]lab.Fault{{Target: "stock", Kind: lab.FaultKill}}))
	Await(t, d, lab.EventReady)
	before := endpointOf(t, d, "stock")
	killAndRestart(t, d, "stock", before)
	if after, err := d.Endpoint("stock"); err != nil || after != before {
		t.Errorf("stock is at %v (%v), was at %v", after, err, before)
	}
	finish(t, d)
	end(t, d)
	if text, err := os.ReadFile(filepath.Join(d.HandedOver(), "stock.lives")); err != nil ||
		string(text) != "|||" {
		t.Errorf("stock has handed over %q (%v), want three lives", text, err)
	}
	logsThreeLives(t, d, "stock")
}

// killAndRestart kills a unit at an address, starts it again, and then restarts it. It checks that each life
// answers with its number, and that only heal starts the next one.
func killAndRestart(t *testing.T, d lab.Deployment, unit string, at lab.Endpoint) {
	t.Helper()
	harm(t, d, unit, lab.FaultKill)
	time.Sleep(silence) // for a platform that would start it again by itself
	expect(t, at, silence, "", unit+", killed,")
	refuses(t, d, lab.Fault{Target: unit, Kind: lab.FaultKill})
	heal(t, d, unit, lab.FaultKill)
	expect(t, at, soon, unit+":2", unit+" in its second life")
	harm(t, d, unit, lab.FaultRestart)
	heal(t, d, unit, lab.FaultRestart)
	expect(t, at, soon, unit+":3", unit+", restarted,")
	if err := d.Heal(Within(t), lab.Fault{Target: unit, Kind: lab.FaultKill}); err == nil {
		t.Errorf("%s was not killed, and was started again", unit)
	}
}

// logsThreeLives expects that the log of a unit has the lines of its three lives.
func logsThreeLives(t *testing.T, d lab.Deployment, unit string) {
	t.Helper()
	want := fmt.Sprintf("%[1]s listens, life 1\n%[1]s listens, life 2\n%[1]s listens, life 3\n", unit)
	if log := d.Logs()[unit]; log != want {
		t.Errorf("the log of %s is %q, want %q", unit, log, want)
	}
}

// preparations checks that commands that prepare run one after another before the units, leave their files in
// the volume of a unit, and are no units.
func preparations(t *testing.T, s *suite) {
	l := Layout("front")
	// Each command finds the file that the one before it has left in the volume that they share with front.
	l.Prepare = []lab.UnitSpec{
		{
			Name:     "first",
			Runnable: lab.Runnable{Args: []string{"move", "", "{dir}/first"}},
			Storage:  lab.Storage{Volume: "front"},
		},
		{
			Name:     "second",
			Runnable: lab.Runnable{Args: []string{"move", "{dir}/first", "{dir}/front.lives"}},
			Storage:  lab.Storage{Volume: "front"},
		},
	}
	d := s.play(t, l)
	for _, name := range []string{"first", "second"} {
		if log := d.Logs()[name]; !strings.HasPrefix(log, "moves to /") {
			t.Errorf("the log of %s is %q", name, log)
		}
	}
	if n := len(d.Units()); n != 2 {
		t.Errorf("%d units, want 2: commands that prepare are none", n)
	}
	end(t, d)
	if text, err := os.ReadFile(filepath.Join(d.HandedOver(), "front.lives")); err != nil ||
		string(text) != "||" {
		t.Errorf("front has handed over %q (%v), want that it found what was prepared", text, err)
	}
}

func preparationThatFails(t *testing.T, s *suite) {
	l := Layout("front")
	l.Prepare = []lab.UnitSpec{{Name: "reset", Runnable: lab.Runnable{Args: []string{"die"}}}}
	_, err := s.Deploy(t.Context(), l, s.dir)
	Says(t, err, "prepare the trial", "reset", "exit status 1", "out of luck")
}

// neverReady checks that Await ends with its context while the lead sends no event.
func neverReady(t *testing.T, s *suite) {
	l := Layout("front")
	l.Units[0].Args = []string{"serve"} // this part sends no event
	l.Units[0].Listens = true
	d := s.deploy(t, l)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := d.Await(ctx, lab.EventReady); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("Await: %v, want the context's cause", err)
	}
}

// Processes returns the processes of this host that carry the label of a conductor.
func Processes(label string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), "CLEAVE_RUN="+label) {
			found = append(found, filepath.Dir(path))
		}
	}
	return found
}
