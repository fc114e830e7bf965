// Package launch starts processes that end when this one does, however it ends, and
// distinguishes a process from a later one that has its number.
//
// It does not watch, stop or clean up: whoever launches a process waits for it.
//
// Entry points: NewLauncher for starting, Own and ParseID for identifying processes.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Launcher starts processes from one operating-system thread that lives until Close.
// Two things depend on that thread: the kernel kills a process that asks for it
// (Pdeathsig) when the thread that started it ends, even by a kill -9 of the whole
// program, and a process inherits the processors to which that thread is bound at
// the moment of the start.
type Launcher struct {
	work   chan func()
	closed chan struct{}
}

// NewLauncher returns a Launcher, which the caller must close.
func NewLauncher() *Launcher {
	l := &Launcher{work: make(chan func()), closed: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case job := <-l.work:
				job()
			case <-l.closed:
				return
			}
		}
	}()
	return l
}

// Close ends the thread. Callers do so after the end of all processes with a Pdeathsig. A later Start fails.
func (l *Launcher) Close() { close(l.closed) }

// Start starts the command, bound to the given cores; none means any. Cores are indexes
// into the processors that this process may use, and wrap around: 3 on a host with two
// is the second. Several goroutines may call Start; it starts one command at a time.
func (l *Launcher) Start(command *exec.Cmd, cores ...int) error {
	result := make(chan error)
	select {
	case l.work <- func() { result <- startOn(command, cores) }:
		return <-result
	case <-l.closed:
		return errors.New("the launcher of processes was closed")
	}
}

// Command returns a command of a program, which has its own arguments, with further arguments.
func Command(program []string, further ...string) *exec.Cmd {
	arguments := slices.Concat(program[1:], further)
	return exec.Command(program[0], arguments...)
}

// startOn starts a command on this thread, which is bound to the cores during the start.
func startOn(command *exec.Cmd, cores []int) error {
	if len(cores) == 0 {
		return command.Start()
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read processor affinity: %w", err)
	}
	wanted := setOf(choose(cores, before))
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("bind to processors %v: %w", cores, err)
	}
	err := command.Start()
	if restore := unix.SchedSetaffinity(0, &before); restore != nil && err == nil {
		err = fmt.Errorf("restore processor affinity: %w", restore)
	}
	return err
}

// Processors returns the processors of this host for core numbers, as Start maps them.
func Processors(cores []int) ([]int, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("read processor affinity: %w", err)
	}
	return choose(cores, allowed), nil
}

// List formats processors as the kernel and taskset read them: "0,2".
func List(processors []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(processors), " ", ","), "[]")
}

// choose maps core numbers onto the processors that this process may use.
func choose(cores []int, allowed unix.CPUSet) (processors []int) {
	var usable []int
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			usable = append(usable, cpu)
		}
	}
	for _, core := range cores {
		processors = append(processors, usable[core%len(usable)])
	}
	return processors
}

// setOf returns the processors as a set in the kernel's form.
func setOf(processors []int) (set unix.CPUSet) {
	for _, processor := range processors {
		set.Set(processor)
	}
	return set
}

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
