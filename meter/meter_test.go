package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// watch starts to meter children until the end of the test. If it cannot, the test fails.
func watch(t *testing.T, children ...*child) lab.Metering {
	t.Helper()
	var units []lab.Unit
	for _, c := range children {
		units = append(units, c.unit)
	}
	metering, err := New().Watch(t.Context(), units)
	testset.Must(t, err)
	t.Cleanup(func() { _, _ = metering.Stop() })
	return metering
}

// between returns what children use while work runs.
func between(t *testing.T, work func(), children ...*child) lab.Metered {
	t.Helper()
	metering := watch(t, children...)
	testset.Must(t, metering.Mark())
	work()
	testset.Must(t, metering.Mark())
	metered, err := metering.Stop()
	testset.Must(t, err)
	return metered
}

func TestProcessClockIsTheProcessCPUClock(t *testing.T) {
	s := newScratch()
	before, err := s.clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	testset.Must(t, err)
	_ = spin(1_000_000)
	byPID, err := s.clock(processClock(os.Getpid()))
	testset.Must(t, err)
	after, err := s.clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	testset.Must(t, err)
	if byPID < before || byPID > after {
		t.Errorf("clock by pid = %d ns, want between %d and %d", byPID, before, after)
	}
}

// TestLongFilesAreReadWhole: such as the list of the processes of a large container.
func TestLongFilesAreReadWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cgroup.procs")
	want := strings.Repeat("1234567\n", 5000)
	testset.Must(t, os.WriteFile(name, []byte(want), 0o600))
	if got, err := newScratch().file(unix.AT_FDCWD, name); err != nil || string(got) != want {
		t.Errorf("%d bytes are read (%v), want %d", len(got), err, len(want))
	}
}

func TestCPUSecondsAgreeWithGetrusage(t *testing.T) {
	c := startChild(t, "core", "core")
	c.do("burn 100") // before the window: not to be counted
	outerStart := c.usage().Seconds()
	var innerStart, innerEnd float64
	metered := between(t, func() {
		innerStart = c.usage().Seconds()
		c.do("burn 300")
		innerEnd = c.usage().Seconds()
	}, c)
	outerEnd := c.usage().Seconds()
	got := metered.Total.CPUSeconds
	// getrusage counts other running threads up to their last tick only.
	const tick = 0.01
	if got < innerEnd-innerStart-tick || got > outerEnd-outerStart+tick {
		t.Errorf("CPU = %.6f s, getrusage says %.6f..%.6f s", got, innerEnd-innerStart, outerEnd-outerStart)
	}
	split := metered.Total.UserSeconds + metered.Total.SystemSeconds
	if math.Abs(split-got) > 1e-9 {
		t.Errorf("user %v s + system %v s != CPU %v s", metered.Total.UserSeconds, metered.Total.SystemSeconds, got)
	}
	if reason, missing := metered.Total.Unavailable["user_seconds"]; missing {
		t.Errorf("no user time although 300 ms were burned: %s", reason)
	}
}

func TestMemoryIsSampledAtBothMarks(t *testing.T) {
	const size = 64 << 20
	c := startChild(t, "core", "core")
	metered := between(t, func() { c.do("allocate " + strconv.Itoa(size)) }, c)
	if len(metered.Samples) < 2 {
		t.Fatalf("%d samples, want one at each mark", len(metered.Samples))
	}
	first, last := metered.Samples[0], metered.Samples[len(metered.Samples)-1]
	// The share in common pages moves when other processes of the same binary
	// come and go.
	if grown := last.MemoryBytes - first.MemoryBytes; grown < size-size/8 || grown > size+size/8 {
		t.Errorf("memory grew by %d bytes, want about %d", grown, size)
	}
	if metered.Total.PeakMemoryBytes < last.MemoryBytes {
		t.Errorf("peak = %d, want at least the last sample %d", metered.Total.PeakMemoryBytes, last.MemoryBytes)
	}
	if mean := metered.Total.MeanMemoryBytes; mean <= first.MemoryBytes || mean >= last.MemoryBytes {
		t.Errorf("mean = %d, want between %d and %d", mean, first.MemoryBytes, last.MemoryBytes)
	}
	if metered.Total.PeakResidentBytes < size {
		t.Errorf("largest resident set = %d, want at least %d", metered.Total.PeakResidentBytes, size)
	}
}

func TestWrittenBytesAndContextSwitches(t *testing.T) {
	const written, times = 1 << 20, 100
	c := startChild(t, "core", "core")
	metered := between(t, func() {
		c.do("write " + strconv.Itoa(written))
		c.do("block " + strconv.Itoa(times))
	}, c)
	total := metered.Total
	if total.WrittenBytes < written || total.WrittenBytes > written+4096 {
		t.Errorf("written = %d, want %d and the answers", total.WrittenBytes, written)
	}
	if total.VoluntaryContextSwitches < times {
		t.Errorf("%d voluntary context switches in %d sleeps", total.VoluntaryContextSwitches, times)
	}
	if total.Threads < 1 {
		t.Errorf("%d threads", total.Threads)
	}
}

func TestRolesAndUnitsAddUp(t *testing.T) {
	core := startChild(t, "core", "core")
	first := startChild(t, "worker-001", "worker")
	second := startChild(t, "worker-002", "worker")
	metered := between(t, func() {
		core.do("burn 20")
		second.do("burn 60")
	}, core, first, second)
	workers := metered.Roles["worker"]
	if workers.Units != 2 || metered.Total.Units != 3 {
		t.Errorf("%d workers of %d units, want 2 of 3", workers.Units, metered.Total.Units)
	}
	if sum := workers.CPUSeconds +
		metered.Roles["core"].CPUSeconds; math.Abs(sum-metered.Total.CPUSeconds) > 1e-9 {
		t.Errorf("roles use %v s, total is %v s", sum, metered.Total.CPUSeconds)
	}
	for i, name := range []string{"core", "worker-001", "worker-002"} {
		if got := metered.Units[i]; got.Unit.Name != name || got.Host != thisHost() || got.Host.Processors < 1 {
			t.Errorf("unit %d is %q on %+v, want %q on this host", i, got.Unit.Name, got.Host, name)
		}
	}
	if burner, idle := metered.Units[2].CPUSeconds,
		metered.Units[1].CPUSeconds; burner < 0.05 || idle > burner/2 {
		t.Errorf("worker-002 used %v s, worker-001 %v s: want about 0.06 and 0", burner, idle)
	}
}

// TestManyUnitsAreReadByTwoThreads checks that each unit gets its own figures, at the edges and in the middle
// of the list. The CPU time of the meter includes that of its threads. The error names a unit that has ended.
func TestManyUnitsAreReadByTwoThreads(t *testing.T) {
	units := make([]*child, manyUnits+1)
	for i := range units {
		units[i] = startChild(t, fmt.Sprintf("worker-%03d", i), "worker")
	}
	written := map[int]int{0: 1 << 20, manyUnits/2 - 1: 2 << 20, manyUnits / 2: 3 << 20, manyUnits: 4 << 20}
	metered := between(t, func() {
		for i, amount := range written {
			units[i].do(fmt.Sprintf("write %d", amount))
		}
	}, units...)
	for i, unit := range metered.Units {
		if got := unit.WrittenBytes; got < int64(written[i]) || got > int64(written[i])+1<<19 ||
			unit.MeanMemoryBytes <= 0 {
			t.Errorf("unit %d has written %d bytes and had %d of memory, want %d and some", i, got,
				unit.MeanMemoryBytes, written[i])
		}
	}
	if metered.OwnCPUSeconds <= metered.OwnWindowCPUSeconds {
		t.Errorf("the meter has used %v s, %v of them between the marks", metered.OwnCPUSeconds,
			metered.OwnWindowCPUSeconds)
	}
	metering := watch(t, units...)
	units[manyUnits].end()
	if err := metering.Mark(); !errors.Is(err, os.ErrProcessDone) ||
		!strings.Contains(err.Error(), units[manyUnits].unit.Name) {
		t.Errorf("mark of a unit that has gone: %v", err)
	}
}

func TestUnitThatHasGone(t *testing.T) {
	t.Run("before watching", func(t *testing.T) {
		c := startChild(t, "worker-007", "worker")
		c.end()
		_, err := New().Watch(t.Context(), []lab.Unit{c.unit})
		wantGone(t, err)
	})
	t.Run("between the marks", func(t *testing.T) {
		stays := startChild(t, "core", "core")
		c := startChild(t, "worker-007", "worker")
		metering := watch(t, stays, c)
		testset.Must(t, metering.Mark())
		c.end()
		wantGone(t, metering.Mark())
	})
	t.Run("and was not collected", func(t *testing.T) {
		c := startChild(t, "worker-007", "worker")
		metering := watch(t, c)
		c.leave()
		awaitZombie(t, c.unit.PID)
		wantGone(t, metering.Mark())
	})
}

// awaitZombie waits until a process has ended and was not yet collected by its parent.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		testset.Must(t, err)
		if s, err := parseStat(text); err == nil && s.state == 'Z' {
			return
		}
	}
	t.Fatalf("process %d is not dead after a minute", pid)
}

// wantGone checks the error of a unit that does not run.
func wantGone(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, os.ErrProcessDone) || !strings.Contains(err.Error(), "worker-007") {
		t.Errorf("error = %v, want one that names worker-007 as gone", err)
	}
}

func TestMarksAreTwo(t *testing.T) {
	c := startChild(t, "core", "core")
	metering := watch(t, c)
	for number := range 2 {
		if err := metering.Mark(); err != nil {
			t.Fatalf("mark %d: %v", number+1, err)
		}
	}
	if err := metering.Mark(); err == nil {
		t.Error("a third mark was taken")
	}
	if _, err := metering.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := metering.Stop(); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if err := metering.Mark(); err == nil {
		t.Error("a mark was taken after the end")
	}
}

func TestStopWithoutMarks(t *testing.T) {
	metering := watch(t, startChild(t, "core", "core"))
	if _, err := metering.Stop(); err == nil || !strings.Contains(err.Error(), "0 of 2 marks") {
		t.Errorf("error = %v, want one that counts the marks", err)
	}
}

func TestEndOfContextEndsMetering(t *testing.T) {
	c := startChild(t, "core", "core")
	ctx, cancel := context.WithCancel(t.Context())
	running, err := New().Watch(ctx, []lab.Unit{c.unit})
	testset.Must(t, err)
	cancel()
	<-running.(*metering).ended
	if err := running.Mark(); !errors.Is(err, context.Canceled) {
		t.Errorf("mark after the end of the context: %v, want its cause", err)
	}
}

func TestWatchNothing(t *testing.T) {
	if _, err := New().Watch(t.Context(), nil); err == nil {
		t.Error("watching no units is no error")
	}
}
