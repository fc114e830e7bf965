package unit

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTheMonitorIsLate reads the timer slack of the thread from the kernel. Without the
// right to change it, the test only checks that nothing fails.
func TestTheMonitorIsLate(t *testing.T) {
	thread, err := monitorThread()
	if err != nil || thread == "" {
		t.Fatalf("thread %q, error %v", thread, err)
	}
	slack := func() string {
		text, err := os.ReadFile("/proc/" + thread + "/timerslack_ns")
		if err != nil {
			t.Skip(err)
		}
		return strings.TrimSpace(string(text))
	}
	before := slack()
	must(t, Slacken(3*time.Millisecond))
	if got := slack(); got != "3000000" && os.Geteuid() == 0 {
		t.Errorf("slack of thread %s was %s ns and is %s ns, want 3000000", thread, before, got)
	}
}

func TestTheMainThreadIsNotTheMonitor(t *testing.T) {
	thread, err := monitorThread()
	own, linked := os.Readlink("/proc/self")
	if err != nil || linked != nil || thread == own {
		t.Errorf("thread %s of process %s, errors %v and %v", thread, own, err, linked)
	}
}
