package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// monitorSlack is by how much the wake-ups of the process's other threads may be
// late: long enough for them to coincide with the kernel's own ticks.
const monitorSlack = 200 * time.Millisecond

// slackenMonitor lets the timers of this process's other threads be late. One of
// these threads is the Go runtime's monitor, which wakes up a hundred times a
// second while the process has work. It has nothing to do here, but 500 of them
// interrupt the workers 50,000 times a second, which was 12 % of the cost of a
// round trip at 10x50 (2 % at 10x10). Late, they run along with a tick.
//
// A process that may not do that works all the same.
func slackenMonitor() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list own threads: %w", err)
	}
	slack := []byte(strconv.FormatInt(monitorSlack.Nanoseconds(), 10))
	own := strconv.Itoa(unix.Gettid())
	for _, thread := range threads {
		if thread.Name() == own {
			continue
		}
		err := os.WriteFile("/proc/"+thread.Name()+"/timerslack_ns", slack, 0)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("slacken the timers of thread %s: %w", thread.Name(), err)
		}
	}
	return nil
}
