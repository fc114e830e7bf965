package meter

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// grouped moves a process into a control group of its own, until the test ends.
func grouped(t *testing.T, pid int) {
	t.Helper()
	folder := filepath.Join(groupRoot, "cpuacct", "cleave-meter-test-"+strconv.Itoa(pid))
	if _, err := os.Stat(filepath.Join(groupRoot, "cgroup.controllers")); err == nil {
		folder = filepath.Join(groupRoot, "cleave-meter-test-"+strconv.Itoa(pid))
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		err := os.Remove(folder)
		for deadline := time.Now().Add(time.Minute); err != nil &&
			time.Now().Before(deadline); err = os.Remove(folder) {
			time.Sleep(5 * time.Millisecond) // the child's children end after it
		}
		if err != nil {
			t.Error(err)
		}
	})
	testset.Must(t, os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644))
}

// TestAContainerIsMeteredByItsControlGroup: the CPU time of child processes counts exactly, including
// ended ones.
func TestAContainerIsMeteredByItsControlGroup(t *testing.T) {
	parent := startChild(t, "server", "system")
	grouped(t, parent.unit.PID)
	defer parent.leave() // before the group is removed
	parent.unit.Span = lab.SpanContainer
	metered := familyAtWork(t, parent, lastPoint) // with this rest, the course has a point after the work
	if all := cpuIn(metered.Course); all < 0.9 || all > metered.Total.CPUSeconds+0.05 {
		t.Errorf("%g s of CPU in the course, %g s between the marks", all, metered.Total.CPUSeconds)
	}
	if about := metered.Sources["system"]; !strings.HasPrefix(about, "its control group (version ") {
		t.Errorf("it was metered by %q", about)
	}
	used := metered.Roles["system"]
	// 0.9 s are burnt; starting two programs adds some.
	if used.CPUSeconds < 0.9 || used.CPUSeconds > 1.5 || used.UserSeconds < 0.5 ||
		used.UserSeconds > used.CPUSeconds {
		t.Errorf("used %g s of CPU, %g s of them in user space", used.CPUSeconds, used.UserSeconds)
	}
	if used.PeakMemoryBytes < 32<<20 || used.VoluntaryContextSwitches < 100 || used.Threads == 0 ||
		used.ReadBytes == 0 {
		t.Errorf("used %+v, want at least 32 MiB and 100 switches", used)
	}
}

// TestGroupsOfVersion2 uses a folder in place of the kernel's files.
func TestGroupsOfVersion2(t *testing.T) {
	root := t.TempDir()
	process := t.TempDir()
	folder := filepath.Join(root, "system.slice", "docker-1.scope")
	files := map[string]string{
		filepath.Join(process, "cgroup"):          "0::/system.slice/docker-1.scope/init.scope\n",
		filepath.Join(process, "stat"):            "1 (unit) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0",
		filepath.Join(root, "cgroup.controllers"): "cpu memory\n",
		filepath.Join(folder, "cpu.stat"):         "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
		filepath.Join(folder, "cgroup.procs"):     "",
		// The init system of the container has made groups below that of the container, and is in one of them.
		filepath.Join(folder, "init.scope", "cgroup.procs"):            "",
		filepath.Join(folder, "init.scope", "service", "cgroup.procs"): strconv.Itoa(os.Getpid()) + "\n",
	}
	testset.Must(t, os.MkdirAll(filepath.Join(folder, "init.scope", "service"), 0o755))
	for path, text := range files {
		testset.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	dir, err := os.Open(process)
	testset.Must(t, err)
	defer func() { _ = dir.Close() }() // only read
	p := &probe{dir: int(dir.Fd()), unit: lab.Unit{Span: lab.SpanContainer}}
	g, err := openGroup(p, root)
	testset.Must(t, err)
	c := &container{tree: tree{root: p, members: map[int]*probe{}}, group: g}
	c.find = c.processes
	s := newScratch()
	var sum counters
	cpu, err := c.cpu(s)
	if err == nil {
		err = c.accounts(s, &sum)
	}
	if err != nil || cpu != 2.5e9 || sum.stat.userTicks != 200 || sum.stat.systemTicks != 50 {
		t.Errorf("%d ns of CPU, ticks %d and %d (%v)", cpu, sum.stat.userTicks, sum.stat.systemTicks, err)
	}
	if size, err := c.memory(s); err != nil || size == 0 || sum.stat.threads == 0 {
		t.Errorf("a process in a group below has %d bytes and %d threads (%v)", size, sum.stat.threads, err)
	}
}
