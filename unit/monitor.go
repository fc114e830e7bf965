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

// Slacken allows the kernel to delay the wake-ups of the Go runtime's monitor thread by up to the given time.
// While its process works, the thread wakes up every 20 microseconds to 10 milliseconds. It takes processors
// (Go's P) away from threads that stay long in the kernel and from goroutines that do not yield. In a process
// that only waits for sockets it finds nothing to do. If many such processes share few processors, its
// wake-ups are among their largest costs.
//
// Do not call it in a process whose threads wait for files: a waiting thread would keep its processor.
// Without the capability CAP_SYS_NICE, or on a kernel without timerslack_ns, it does nothing.
func Slacken(by time.Duration) error {
	thread, err := monitorThread()
	if thread == "" || err != nil {
		return err
	}
	err = os.WriteFile("/proc/"+thread+"/timerslack_ns", strconv.AppendInt(nil, by.Nanoseconds(), 10), 0)
	isUnavailable := errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
	if err != nil && !isUnavailable {
		return fmt.Errorf("slacken the timers of thread %s: %w", thread, err)
	}
	return nil
}

// monitorThread returns the ID of the monitor thread, or "" if there is none yet. It is the first thread that
// the runtime starts. The kernel lists threads in the order of their start, the main thread first.
func monitorThread() (thread string, err error) {
	list, err := os.Open("/proc/self/task")
	if err != nil {
		return "", fmt.Errorf("list own threads: %w", err)
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	first, err := list.Readdirnames(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("list own threads: %w", err)
	case len(first) < 2:
		return "", nil
	}
	return first[1], nil
}
