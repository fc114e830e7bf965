package process

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// launcher starts processes from one operating-system thread that lives as long
// as the deployment. Two things hang on the thread: the kernel kills a unit when
// the thread that started it ends (Pdeathsig), and a unit inherits the
// processors to which that thread is bound at the moment of the start.
type launcher struct {
	work chan func()
}

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for job := range l.work {
			job()
		}
	}()
	return l
}

func (l *launcher) close() { close(l.work) }

// start runs the command, bound to the given processors; none means any.
func (l *launcher) start(command *exec.Cmd, cores []int) error {
	result := make(chan error)
	l.work <- func() { result <- startOn(command, cores) }
	return <-result
}

func startOn(command *exec.Cmd, cores []int) error {
	if len(cores) == 0 {
		return command.Start()
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read processor affinity: %w", err)
	}
	wanted := choose(cores, before)
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("bind to processors %v: %w", cores, err)
	}
	err := command.Start()
	if restore := unix.SchedSetaffinity(0, &before); restore != nil && err == nil {
		err = fmt.Errorf("restore processor affinity: %w", restore)
	}
	return err
}

// choose maps core numbers onto the processors that this process may use,
// wrapping around: core 3 on a host with two is the second.
func choose(cores []int, allowed unix.CPUSet) unix.CPUSet {
	var usable []int
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			usable = append(usable, cpu)
		}
	}
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(usable[core%len(usable)])
	}
	return set
}
