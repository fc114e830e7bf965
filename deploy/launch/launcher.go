// Package launch starts processes that end when this one does, however it ends, and
// distinguishes a process from a later one that has its number.
//
// It does not watch, stop or clean up: whoever launches a process waits for it.
//
// Entry points: NewLauncher for starting, Own and ParseID for identifying processes.
package launch

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

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
