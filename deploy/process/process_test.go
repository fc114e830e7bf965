package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// patience bounds how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// deployer returns a deployer that runs this test binary as every unit, janitor and keeper.
func deployer(t *testing.T) *Deployer {
	t.Helper()
	own, err := os.Executable()
	testset.Must(t, err)
	return New(own, deploytest.Part("janitor"), deploytest.Part("keeper"), deploytest.Label(t))
}

// layout returns a lead and three workers that play the given parts.
func layout(leadPart, workerPart string) lab.Layout {
	l := lab.Layout{Lead: "core", Units: []lab.UnitSpec{{
		Name: "core", Role: "core",
		Runnable:   lab.Runnable{Args: []string{"unit", leadPart}, Env: []string{deploytest.EndsAtOnce}},
		Networking: lab.Networking{Listens: true},
	}}}
	for i := range 3 {
		l.Units = append(l.Units, lab.UnitSpec{
			Name: fmt.Sprintf("worker-%d", i), Role: "worker",
			Runnable:   lab.Runnable{Args: []string{"unit", workerPart}, Env: []string{deploytest.EndsAtOnce}},
			Networking: lab.Networking{Listens: true, Peers: []string{"core"}},
		})
	}
	return l
}

// deploy deploys a layout and returns its deployment and folder. It checks at the end of the test that
// nothing is left.
func deploy(t *testing.T, l lab.Layout) (lab.Deployment, string) {
	t.Helper()
	dir := deploytest.Folder(t)
	d, err := deployer(t).Deploy(t.Context(), l, dir)
	testset.Must(t, err)
	t.Cleanup(func() {
		deploytest.NoError(t, d.Stop())
		assertGone(t, d.Units(), dir)
	})
	return d, dir
}

// assertGone fails when a unit still runs or the directory is still there.
func assertGone(t *testing.T, units []lab.Unit, dir string) {
	t.Helper()
	for _, u := range units {
		if err := syscall.Kill(u.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("unit %s (process %d) is still there", u.Name, u.PID)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %s is still there", dir)
	}
}

func TestDeploymentFromStartToReports(t *testing.T) {
	l := layout("lead", "worker")
	l.SharedMemory = 4096
	d, _ := deploy(t, l)
	ctx := deploytest.Within(t)
	if _, err := d.Await(ctx, lab.EventReady); err != nil {
		t.Fatal(err)
	}
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStart}))
	finished, err := d.Await(ctx, lab.EventFinished)
	testset.Must(t, err)
	if finished.ElapsedSeconds != 1.5 {
		t.Errorf("elapsed %g s, want 1.5", finished.ElapsedSeconds)
	}
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStop}))
	reports, err := d.Reports(ctx)
	testset.Must(t, err)
	checkReports(t, d.Units(), reports)
}

// checkReports checks what the units report of themselves. The first one is the lead.
func checkReports(t *testing.T, units []lab.Unit, reports []lab.UnitReport) {
	t.Helper()
	if len(reports) != 4 {
		t.Fatalf("%d reports, want 4", len(reports))
	}
	for i, report := range reports {
		var s seen
		testset.Must(t, json.Unmarshal(report.Data, &s))
		if report.Unit != units[i].Name || s.PID != units[i].PID || report.PID != s.PID {
			t.Errorf("report %d is of %s process %d, want %+v", i, report.Unit, s.PID, units[i])
		}
		if s.Variables > 8 {
			t.Errorf("%s has %d environment variables: the conductor's own leak into units", report.Unit, s.Variables)
		}
		if i == 0 && s.Memory != 3 {
			t.Errorf("%d workers have written to the shared memory, want 3", s.Memory)
		}
	}
}

func TestAwaitSaysHowAUnitEnded(t *testing.T) {
	for name, test := range map[string]struct{ lead, worker, says string }{
		"worker gives up":        {"wait", "fail", "unit worker-0 failed: no luck today"},
		"worker is killed":       {"wait", "kill", "unit worker-0 ended: signal: killed"},
		"worker ends early":      {"wait", "quit", "unit worker-0 ended before it was told to"},
		"worker's last words":    {"wait", "panic", "(oh dear)"},
		"worker talks nonsense":  {"wait", "nonsense", "unit worker-0 wrote what is no event"},
		"worker poses as lead":   {"wait", "lead", "but core leads"},
		"lead says another word": {"unasked", "worker", `said "finished", expected "ready"`},
	} {
		t.Run(name, func(t *testing.T) {
			l := layout(test.lead, "wait")
			l.Units[1].Args = []string{"unit", test.worker}
			d, _ := deploy(t, l)
			_, err := d.Await(deploytest.Within(t), lab.EventReady)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Await: %v, want it to say %q", err, test.says)
			}
		})
	}
}

// TestDeployThatFailsLeavesNothing checks that no folder is left if units, or the janitor, cannot be started.
func TestDeployThatFailsLeavesNothing(t *testing.T) {
	for program, change := range map[string]func(*Deployer){
		"/nonexistent/cleave-unit": func(d *Deployer) { d.programs = "/nonexistent/cleave-unit" },
		"/nonexistent/janitor":     func(d *Deployer) { d.janitor = []string{"/nonexistent/janitor"} },
	} {
		dir := deploytest.Folder(t)
		d := deployer(t)
		change(d)
		_, err := d.Deploy(t.Context(), layout("lead", "worker"), dir)
		deploytest.Says(t, err, program)
		assertGone(t, nil, dir)
	}
}

func TestNothingSurvivesAConductorKilledWithSignal9(t *testing.T) {
	dir := deploytest.Folder(t)
	conductor, units := startConductor(t, dir, layout("wait", "wait"))
	killConductor(t, conductor, units, dir)
}

// killConductor kills a conductor and expects that its units end and its folder is removed.
func killConductor(t *testing.T, conductor *exec.Cmd, units []lab.Unit, dir string) {
	t.Helper()
	testset.Must(t, conductor.Process.Kill())
	_ = conductor.Wait() // it says that the conductor was killed
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && (anyAlive(units) || exists(dir)); {
		time.Sleep(5 * time.Millisecond)
	}
	assertGone(t, units, dir)
}

func anyAlive(units []lab.Unit) bool {
	return slices.ContainsFunc(units, func(u lab.Unit) bool { return syscall.Kill(u.PID, 0) == nil })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestPreflightNamesWhatIsTooLittle(t *testing.T) {
	d := deployer(t)
	if err := d.Preflight(t.Context(), layout("lead", "worker")); err != nil {
		t.Errorf("four units: %v", err)
	}
	tooMany := lab.Layout{Units: make([]lab.UnitSpec, 100_000), Descriptors: 1 << 30, SharedMemory: 1 << 50}
	err := d.Preflight(t.Context(), tooMany)
	deploytest.Says(t, err, "ulimit -Hn", "process numbers", "MiB of memory")
}

// TestStopAfterTheJanitorWasKilled checks that Stop ends the units that a killed janitor has left running,
// and returns an error.
func TestStopAfterTheJanitorWasKilled(t *testing.T) {
	dir := deploytest.Folder(t)
	d, err := deployer(t).Deploy(t.Context(), layout("wait", "wait"), dir)
	testset.Must(t, err)
	testset.Must(t, d.(*deployment).group.janitor.Process.Kill())
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop() }()
	select {
	case err := <-stopped:
		deploytest.Says(t, err, "clean up after the trial", "signal: killed")
		assertGone(t, d.Units(), dir)
	case <-deploytest.Within(t).Done():
		t.Fatal("Stop does not return")
	}
}

// TestAUnitThatDoesNotEndIsNamed checks that the wait for the ends of units is bounded.
func TestAUnitThatDoesNotEndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &unit{Unit: fleet.NewUnit(lab.UnitSpec{Name: "stuck"})}
		ended := &unit{Unit: fleet.NewUnit(lab.UnitSpec{Name: "ended"})}
		close(ended.Ended)
		err := endAll([]*unit{stuck, ended})
		deploytest.Says(t, err, "unit stuck does not end")
		if strings.Contains(err.Error(), "unit ended") {
			t.Errorf("a unit that has ended is among those that have not: %v", err)
		}
	})
}
