package unit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Slacken lets the wake-ups of the Go runtime's monitor thread be late by that much. The
// thread wakes up every 20 microseconds to 10 milliseconds while its process has work, to
// take processors away from threads that are long in the kernel, and from goroutines that
// do not pause. In a process that waits for sockets only it finds nothing to do, and where
// many such processes share few processors, its interruptions are among the largest costs
// of each.
//
// It has no place in a process whose files make threads wait: a processor would stay with
// such a thread. A process that may not do it (it takes CAP_SYS_NICE) works all the same.
func Slacken(by time.Duration) error {
	thread, err := monitorThread()
	if thread == "" || err != nil {
		return err
	}
	err = os.WriteFile("/proc/"+thread+"/timerslack_ns", strconv.AppendInt(nil, by.Nanoseconds(), 10), 0)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("slacken the timers of thread %s: %w", thread, err)
	}
	return nil
}

// monitorThread returns the number of the monitor's thread: the first that the runtime starts. The
// kernel lists threads in the order in which they were started, the main one first.
func monitorThread() (thread string, err error) {
	list, err := os.Open("/proc/self/task")
	if err != nil {
		return "", fmt.Errorf("list own threads: %w", err)
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	first, err := list.Readdirnames(2)
	switch {
	case errors.Is(err, io.EOF) || len(first) < 2:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("list own threads: %w", err)
	}
	return first[1], nil
}
