package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// boundPatience bounds how long a program may take from its start until it is bound.
	boundPatience = 5 * time.Second
	boundAgain    = 5 * time.Millisecond // pause between two looks
)

// AwaitBound waits until the kernel lets every thread of a process run only on the processors for the given
// core numbers; none means any. It returns nil for a process that has ended.
func AwaitBound(ctx context.Context, pid int, cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	processors, err := Processors(cores)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, boundPatience,
		fmt.Errorf("not bound to the processors %s after %v", List(processors), boundPatience))
	defer cancel()
	for {
		stray, err := strayThread(pid, processors)
		if err != nil || stray == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), stray)
		case <-time.After(boundAgain):
		}
	}
}

// strayThread describes a thread of a process that may run on other processors than these; "" if none may.
func strayThread(pid int, processors []int) (stray string, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return "", err
	}
	for _, path := range threads {
		thread, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			return "", err
		}
		var others unix.CPUSet
		if err := unix.SchedGetaffinity(thread, &others); errors.Is(err, unix.ESRCH) {
			continue // it has ended
		} else if err != nil {
			return "", fmt.Errorf("read the processors of thread %d: %w", thread, err)
		}
		for _, processor := range processors {
			others.Clear(processor)
		}
		if others.Count() > 0 {
			return fmt.Sprintf("thread %d of process %d may run on %d others", thread, pid, others.Count()), nil
		}
	}
	return "", nil
}
