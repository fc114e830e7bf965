package process

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// withUnit returns a lead that has nothing to do and a unit that plays a part.
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

// killed kills the unit shop and returns what it was.
func killed(t *testing.T, d lab.Deployment) (before lab.Unit) {
	t.Helper()
	before = d.Units()[1]
	deploytest.Must(t, kill(d, "shop"))
	if err := syscall.Kill(before.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d is still there after Kill", before.PID)
	}
	return before
}

// again starts the unit shop again.
func again(t *testing.T, d lab.Deployment) {
	t.Helper()
	deploytest.Must(t, d.Heal(deploytest.Within(t), lab.Fault{Target: "shop", Kind: lab.FaultKill}))
}

// TestAKilledUnitIsStartedAgain: with its address, as a part of the trial like any
// other, and its absence was no failure.
func TestAKilledUnitIsStartedAgain(t *testing.T) {
	for _, part := range []string{"listener", "socket"} {
		d, _ := deploy(t, withUnit(part))
		awaitListener(t, d.Units()[1].PID)
		for deadline := time.Now().Add(patience); d.Logs()["shop"] == ""; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: its first life wrote nothing", part)
			}
		}
		before := killed(t, d)
		again(t, d)
		after := d.Units()[1]
		if after.PID == before.PID || after.Name != before.Name || after.Role != before.Role {
			t.Errorf("%s: unit %+v, before %+v", part, after, before)
		}
		if _, err := d.Await(deploytest.Within(t), lab.EventReady); err != nil {
			t.Errorf("%s: the trial has failed: %v", part, err)
		}
		deploytest.Must(t, d.Command(lab.Command{Command: lab.CommandStop}))
		reports, err := d.Reports(deploytest.Within(t))
		if err != nil || len(reports) != 1 || reports[0].PID != after.PID {
			t.Fatalf("%s: reports %v (%v), want one of process %d", part, reports, err, after.PID)
		}
		var s seen
		if err := json.Unmarshal(reports[0].Data, &s); err != nil || s.PID != after.PID || s.Address == "" {
			t.Errorf("%s: report %+v (%v)", part, s, err)
		}
		if log := d.Logs()["shop"]; strings.Count(log, "listening") != 2 {
			t.Errorf("%s: log %q, want what both lives wrote", part, log)
		}
	}
}

// awaitListener waits until a process listens, by the same means as the deployer.
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
	deploytest.Must(t, err)
	want := before.Dial
	client, err := net.Dial("tcp", want) // a connection that the kill breaks must not keep the port
	deploytest.Must(t, err)
	defer func() { _ = client.Close() }()
	killed(t, d)
	again(t, d)
	second, err := net.Dial("tcp", want)
	if err != nil {
		t.Fatalf("it is started again and does not listen where it did: %v", err)
	}
	_ = second.Close()
}

// TestKillEndsAllOfAForeignUnit: daemons too; started again, it has new ones.
func TestKillEndsAllOfAForeignUnit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemons")
	l := withForeign(t, "daemons", path)
	l.Units[1].Name, l.Units[1].Listens = "shop", false // these daemons do not listen
	d, _ := deploy(t, l)
	first := daemonIDs(t, path)
	deploytest.Must(t, os.Remove(path))
	killed(t, d)
	if anyAlive(first) {
		t.Errorf("of %v some still run", first)
	}
	again(t, d)
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
	killed(t, d)
	again(t, d)
	if _, err := d.Await(deploytest.Within(t), lab.EventReady); err != nil {
		t.Fatal(err)
	}
	deploytest.Must(t, syscall.Kill(d.Units()[1].PID, syscall.SIGKILL))
	if _, err := d.Await(deploytest.Within(t), lab.EventFinished); err == nil ||
		!strings.Contains(err.Error(), "unit shop ended: signal: killed") {
		t.Errorf("Await: %v, want the death that nobody planned", err)
	}
}

func kill(parts lab.Harmer, unit string) error {
	_, err := parts.Harm(context.Background(), lab.Fault{Target: unit, Kind: lab.FaultKill})
	return err
}

func TestWhatCannotBeKilledOrStartedAgain(t *testing.T) {
	shared := withUnit("listener")
	shared.SharedMemory = 4096
	for name, c := range map[string]struct {
		layout lab.Layout
		do     func(t *testing.T, d lab.Deployment) error
		want   string
	}{
		"memory": {shared, func(_ *testing.T, d lab.Deployment) error { return kill(d, "shop") },
			"shares memory"},
		"dead before": {withUnit("quit"), func(_ *testing.T, d lab.Deployment) error {
			<-d.(*deployment).Named("shop").Ended
			return kill(d, "shop")
		}, "has ended before"},
		"worn out": {withUnit("once"), func(t *testing.T, d lab.Deployment) error {
			awaitListener(t, d.Units()[1].PID)
			killed(t, d)
			return d.Heal(deploytest.Within(t), lab.Fault{Target: "shop", Kind: lab.FaultKill})
		}, "worn out"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := deploy(t, c.layout)
			deploytest.Says(t, c.do(t, d), c.want)
		})
	}
}

// TestNothingOfARestartedUnitSurvivesAConductorKilledWithSignal9: a second life is
// tied to the conductor as the first was.
func TestNothingOfARestartedUnitSurvivesAConductorKilledWithSignal9(t *testing.T) {
	dir := deploytest.Folder(t)
	l := withUnit("socket")
	l.Units[1].Name, l.Units[1].Volume = restarted, "s" // a socket's path may have 107 bytes
	l.Units[0], l.Units[1] = l.Units[1], l.Units[0]
	text, err := json.Marshal(l)
	deploytest.Must(t, err)
	conductor, units := startConductor(t, dir, string(text))
	endsWith(t, conductor, units, dir)
}
