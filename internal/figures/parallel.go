package figures

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// InParallel calls do once for every n below times. Parallel workers, numbered from 0, share these calls. A
// worker stops at its first error; the others continue with its share. InParallel returns the errors of all
// workers.
func InParallel(workers, times int, do func(worker, n int) error) error {
	var next atomic.Int64
	failures := make([]error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for failures[worker] == nil {
				n := int(next.Add(1)) - 1
				if n >= times {
					return
				}
				failures[worker] = do(worker, n)
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// OwnCPU returns the CPU time of this process, in user and kernel mode.
func OwnCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot fail on Linux with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
