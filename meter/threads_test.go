package meter

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestThreadsOfAProcess(t *testing.T) {
	limit := time.Now().Add(time.Minute)
	for used := cpuOfSelf(); cpuOfSelf()-used < 100*time.Millisecond; { // a few ticks, on a busy host, too
		if time.Now().After(limit) {
			t.Fatal("this process has no processor for a minute")
		}
	}
	threads, err := New().Threads([]lab.Unit{{Name: "own", Role: "tests", PID: os.Getpid()},
		{Name: "spare", Standby: true}})
	testset.Must(t, err)
	first, seconds := 0, 0.0
	ids := map[string]bool{}
	for _, thread := range threads {
		if thread.First {
			first++
		}
		ids[thread.ID] = true
		seconds += thread.UserSeconds + thread.SystemSeconds
		if thread.Unit != "own" || thread.Role != "tests" || thread.Name == "" {
			t.Errorf("a thread is %+v", thread)
		}
	}
	if first != 1 || len(ids) != len(threads) || len(threads) < 2 || seconds < 0.05 {
		t.Errorf("%d threads, %d of them first, %d ids, %g s in all", len(threads), first, len(ids), seconds)
	}
}

// TestUnitsThatHaveEndedHaveNoThreads: a unit that a fault killed does not hide the threads of the others.
func TestUnitsThatHaveEndedHaveNoThreads(t *testing.T) {
	threads, err := New().Threads([]lab.Unit{{Name: "gone", PID: 1 << 30},
		{Name: "container", PID: 1 << 30, Span: lab.SpanContainer}, {Name: "own", PID: os.Getpid()}})
	testset.Must(t, err)
	if len(threads) == 0 || slices.ContainsFunc(threads, func(u lab.ThreadUse) bool { return u.Unit != "own" }) {
		t.Errorf("the threads are %+v, want those of the living unit", threads)
	}
}
