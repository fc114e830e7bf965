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
	// boundPatience is how long a program may take from its beginning until it is bound.
	boundPatience = 5 * time.Second
	boundAgain    = 5 * time.Millisecond
)

// AwaitBound waits until every thread of a process runs, as the kernel has it, on the processors that core
// numbers stand for and on no others; none means any. A process that has ended is bound.
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
		stray, err := beyond(pid, processors)
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

// beyond names a thread of a process that may run on other processors than these; "": none does.
func beyond(pid int, processors []int) (stray string, err error) {
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
