package unit

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestSlacken reads the timer slack of the monitor thread from the kernel. Without the
// right to change it, the test only checks that nothing fails.
func TestSlacken(t *testing.T) {
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
	testset.Must(t, Slacken(3*time.Millisecond))
	if got := slack(); got != "3000000" && os.Geteuid() == 0 {
		t.Errorf("slack of thread %s was %s ns and is %s ns, want 3000000", thread, before, got)
	}
}

func TestTheMainThreadIsNotTheMonitor(t *testing.T) {
	thread, err := monitorThread()
	main, linkErr := os.Readlink("/proc/self") // its ID is that of the process
	if err != nil || linkErr != nil || thread == main {
		t.Errorf("thread %s of process %s, errors %v and %v", thread, main, err, linkErr)
	}
}
