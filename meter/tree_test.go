package meter

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// familyAtWork meters a unit that works itself, has a child that ends and one that stays, and then rests. The
// parent burns 600 ms, its children 150 ms each, and the one that stays holds 32 MiB. A third child is there
// from before the metering on, and does nothing.
func familyAtWork(t *testing.T, parent *child, rest time.Duration) lab.Metered {
	t.Helper()
	if answer := parent.do("start hello"); answer != "done" {
		t.Fatal(answer)
	}
	return between(t, func() {
		parent.do("burn 600")
		for _, order := range []string{"run burn 150", "start burn 150;allocate 33554432;block 100"} {
			if answer := parent.do(order); answer != "done" {
				t.Fatal(answer)
			}
		}
		time.Sleep(rest)
	}, parent)
}

func TestATreeIsMeteredWithChildrenThatLiveAndThatHaveEnded(t *testing.T) {
	for span, bounds := range map[lab.Span]struct {
		lowest, highest float64 // CPU seconds
		memory          int64   // bytes, at least
		switches        int64
	}{
		"":            {0.6, 0.74, 0, 0},
		lab.SpanTree:  {0.89, 10, 32 << 20, 100},
		lab.SpanBelow: {0.29, 0.59, 32 << 20, 100},
	} {
		t.Run(string("span "+span), func(t *testing.T) {
			parent := startChild(t, "server", "system")
			parent.unit.Span = span
			used := familyAtWork(t, parent, 0).Roles["system"]
			if used.CPUSeconds < bounds.lowest || used.CPUSeconds > bounds.highest {
				t.Errorf("%g s of CPU, want %g to %g", used.CPUSeconds, bounds.lowest, bounds.highest)
			}
			if used.PeakMemoryBytes < bounds.memory || used.VoluntaryContextSwitches < bounds.switches {
				t.Errorf("used %+v, want at least %d bytes and %d switches", used, bounds.memory, bounds.switches)
			}
			if used.Units != 1 || used.Threads == 0 || used.ReadBytes == 0 {
				t.Errorf("used %+v, want one unit with threads that has read", used)
			}
		})
	}
}

func TestATreeWhoseRootHasGoneIsReported(t *testing.T) {
	parent := startChild(t, "server", "system")
	parent.unit.Span = lab.SpanBelow
	metering := watch(t, parent)
	parent.leave()
	if err := metering.Mark(); err == nil {
		t.Error("a mark of a unit that has gone passes")
	}
}

func TestTheProcessesOfATreeAreToldApart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "worker.sh")
	testset.Must(t, os.WriteFile(script, []byte("while :; do :; done\n"), 0o600))
	//nolint:noctx // ends with the test
	command := exec.Command("sh", "-c", "sleep 60 & sh "+script+" --token topsecret & wait")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testset.Must(t, command.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	descendant(t, "sleep", command.Process.Pid)
	burns := burner(t, "sh\x00"+script, command.Process.Pid)
	unit := lab.Unit{Name: "system", Role: "system", PID: command.Process.Pid, Span: lab.SpanTree}
	system := &child{unit: unit}
	const used = 0.3 // seconds
	metered := between(t, func() { awaitClock(t, burns, clockOf(t, burns)+used) }, system)
	rows := map[string]lab.ProcessUsage{}
	for _, row := range metered.Processes {
		rows[row.Name] = row
	}
	worker, waiting := rows["sh worker.sh"], rows["sleep"]
	if len(rows) != 3 || worker.Processes != 1 || worker.Unit != "system" || waiting.Processes != 1 {
		t.Fatalf("the tree has %+v, want sh, sh worker.sh and sleep", metered.Processes)
	}
	if whole := metered.Roles["system"].CPUSeconds; worker.CPUSeconds < 0.9*whole || worker.CPUSeconds < used ||
		waiting.CPUSeconds > 0.01 {
		t.Errorf("of %g s the worker has %g s and the sleeper %g s", whole, worker.CPUSeconds, waiting.CPUSeconds)
	}
	if worker.PeakMemoryBytes == 0 {
		t.Error("the worker has no memory")
	}
}
