package counters

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// software lists events that every kernel counts, even without counters of the processor: the CPU time of a
// thread in nanoseconds, in place of its instructions, and its context switches, in place of its cycles.
var software = [2]event{
	{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
	{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
}

// TestMain, with the argument burn, writes a byte, waits for input, burns CPU time in new threads, and writes
// another byte.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "burn" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdout.Write([]byte("x"))
	_, _ = os.Stdin.Read(make([]byte, 1)) // the counting has begun
	// More threads at once than the runtime has so far.
	const threads = 20
	var there, done sync.WaitGroup
	there.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			there.Done()
			there.Wait()
			spend(10 * time.Millisecond)
		})
	}
	done.Wait()
	_, _ = os.Stdout.Write([]byte("x"))
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends it
}

// spend uses an amount of CPU time on the calling thread.
func spend(d time.Duration) {
	used := func() time.Duration {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		return time.Duration(t.Nano())
	}
	for end := used() + d; used() < end; {
	}
}

// TestThreadsThatBeginLaterAreCounted checks that threads that begin after Start are counted, and that what
// happened before Start is not.
func TestThreadsThatBeginLaterAreCounted(t *testing.T) {
	program := exec.CommandContext(t.Context(), os.Args[0], "burn")
	in, errIn := program.StdinPipe()
	out, errOut := program.StdoutPipe()
	if err := errors.Join(errIn, errOut, program.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Wait() }()
	defer func() { _ = in.Close() }()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // its runtime has started its first threads
		t.Fatal(err)
	}
	u := lab.ThreadUse{Unit: "u", Role: "r", PID: program.Process.Pid}
	// A process with two threads is counted once; one that has ended is left out.
	c, err := start([]lab.ThreadUse{u, u, {Unit: "u", PID: 1<<22 - 1}}, software)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	all, err := c.End()
	if err != nil {
		t.Fatal(err)
	}
	counted := all["r"]
	used := time.Duration(counted.Instructions)
	if used < 195*time.Millisecond || used > 400*time.Millisecond {
		t.Errorf("%v of CPU time were counted, want 200 ms and what the runtime took", used)
	}
	if counted.Cycles == 0 {
		t.Error("no switches were counted")
	}
}

func TestCountersThatTakeTurnsAreScaled(t *testing.T) {
	for _, c := range []struct {
		count, wanted, ran uint64
		want               float64
		fails              bool
	}{
		{count: 100, wanted: 50, ran: 50, want: 100},
		{count: 100, wanted: 50, ran: 25, want: 200},
		{},
		{wanted: 50, fails: true},
	} {
		got, err := scaled(c.count, c.wanted, c.ran)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%d counted in %d of %d ns are %g, %v; want %g", c.count, c.ran, c.wanted, got, err, c.want)
		}
	}
}

// TestWhereNoProcessorCountsItIsSaid: Start counts instructions and cycles, or returns an error that says
// what is missing.
func TestWhereNoProcessorCountsItIsSaid(t *testing.T) {
	c, err := Start([]lab.ThreadUse{{Unit: "u", PID: os.Getpid()}})
	if err != nil {
		want := "shows no performance counters"
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			want = "run with CAP_PERFMON"
		}
		if text := err.Error(); !strings.Contains(text, "count the instructions of process") ||
			!strings.Contains(text, want) {
			t.Errorf("the error is %q, want one with %q", err, want)
		}
		return
	}
	spend(10 * time.Millisecond)
	if all, err := c.End(); err != nil || all[""].Instructions < 1e6 || all[""].Cycles < 1e6 {
		t.Errorf("counted %+v, %v", all, err)
	}
}
