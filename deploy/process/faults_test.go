package process

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// withUnit returns a layout of a lead without a job and the unit shop, which plays a part.
func withUnit(part string) lab.Layout {
	return lab.Layout{Lead: "core", Units: []lab.UnitSpec{
		{Name: "core", Runnable: lab.Runnable{Args: []string{"unit", "brief"}}},
		{
			Name: "shop", Role: "shop",
			Runnable:   lab.Runnable{Args: []string{"unit", part}},
			Networking: lab.Networking{Listens: true},
		},
	}}
}

// killShop kills the unit shop, and checks that its process is gone.
func killShop(t *testing.T, d lab.Deployment) {
	t.Helper()
	before := d.Units()[1]
	testset.Must(t, kill(d, "shop"))
	if err := syscall.Kill(before.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d is still there after Kill", before.PID)
	}
}

// restartShop starts the unit shop again.
func restartShop(t *testing.T, d lab.Deployment) {
	t.Helper()
	testset.Must(t, d.Heal(deploytest.Within(t), lab.Fault{Target: "shop", Kind: lab.FaultKill}))
}

// awaitListener waits until a process listens, as the deployer sees it.
func awaitListener(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); !listens(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not listen", pid)
		}
	}
}

func TestARestartedUnitHasItsAddress(t *testing.T) {
	d, _ := deploy(t, withUnit("listener"))
	awaitListener(t, d.Units()[1].PID)
	before, err := d.Endpoint("shop")
	testset.Must(t, err)
	want := before.Dial
	client, err := net.Dial("tcp", want) // a connection that the kill breaks must not keep the port
	testset.Must(t, err)
	defer func() { _ = client.Close() }()
	killShop(t, d)
	restartShop(t, d)
	second, err := net.Dial("tcp", want)
	if err != nil {
		t.Fatalf("it is started again and does not listen where it did: %v", err)
	}
	_ = second.Close()
}

// TestKillEndsAllOfAForeignUnit checks that Kill ends its daemons, too, and that Stop ends those of its
// next life.
func TestKillEndsAllOfAForeignUnit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemons")
	l := withForeign(t, "daemons", path)
	l.Units[1].Name = "shop"
	l.Units[1].Listens = false // these daemons do not listen
	d, _ := deploy(t, l)
	if span := d.Units()[1].Span; span != lab.SpanBelow {
		t.Errorf("the unit's processes are %q, want those below the keeper", span)
	}
	first := daemonIDs(t, path)
	testset.Must(t, os.Remove(path))
	killShop(t, d)
	if anyAlive(first) {
		t.Errorf("of %v some still run", first)
	}
	restartShop(t, d)
	second := daemonIDs(t, path)
	if err := d.(*deployment).Failure(); err != nil {
		t.Errorf("the trial has failed: %v", err)
	}
	if err := d.Stop(); err != nil || anyAlive(second) {
		t.Errorf("after Stop (%v) %v are left", err, second)
	}
}

func TestUnexpectedEndsStillFailTheTrial(t *testing.T) {
	d, _ := deploy(t, withUnit("listener"))
	awaitListener(t, d.Units()[1].PID)
	killShop(t, d)
	restartShop(t, d)
	if _, err := d.Await(deploytest.Within(t), lab.EventReady); err != nil {
		t.Fatal(err)
	}
	testset.Must(t, syscall.Kill(d.Units()[1].PID, syscall.SIGKILL))
	if _, err := d.Await(deploytest.Within(t), lab.EventFinished); err == nil ||
		!strings.Contains(err.Error(), "unit shop ended: signal: killed") {
		t.Errorf("Await: %v, want the unexpected end", err)
	}
}

// kill does the fault kill to a unit.
func kill(d lab.Harmer, unit string) error {
	_, err := d.Harm(context.Background(), lab.Fault{Target: unit, Kind: lab.FaultKill})
	return err
}

// TestAUnitThatCannotBeStartedAgain checks that the error of Heal has the unit's message.
func TestAUnitThatCannotBeStartedAgain(t *testing.T) {
	d, _ := deploy(t, withUnit("once"))
	awaitListener(t, d.Units()[1].PID)
	killShop(t, d)
	err := d.Heal(deploytest.Within(t), lab.Fault{Target: "shop", Kind: lab.FaultKill})
	deploytest.Says(t, err, "worn out")
}

// TestNothingOfARestartedUnitSurvivesAConductorKilledWithSignal9 checks that a second
// life ends with the conductor, too.
func TestNothingOfARestartedUnitSurvivesAConductorKilledWithSignal9(t *testing.T) {
	dir := deploytest.Folder(t)
	l := withUnit("socket")
	l.Units[1].Name = restarted
	l.Units[1].Volume = "s"                         // short: a socket's path may have 107 bytes
	l.Units[0], l.Units[1] = l.Units[1], l.Units[0] // playConductor restarts the first one
	conductor, units := startConductor(t, dir, l)
	killConductor(t, conductor, units, dir)
}

// TestAProcessOutlivesItsMainThread checks that signals reach a process whose main thread has ended, and that
// it counts as ended only after its other threads.
func TestAProcessOutlivesItsMainThread(t *testing.T) {
	pid := testset.Headless(t).Process.Pid
	choose := func([]entry) []int { return []int{pid} }
	living, waiting, err := signalUntil(choose, syscall.SIGSTOP, isStopped, pausePatience)
	if err != nil || len(living) != 1 || len(waiting) > 0 {
		t.Errorf("of the stopped process live %d, and %d run: %v", len(living), len(waiting), err)
	}
	living, _, err = signalUntil(choose, syscall.SIGKILL, neverDone, killPatience)
	if err != nil || len(living) > 0 {
		t.Errorf("of the killed process live %d: %v", len(living), err)
	}
}
