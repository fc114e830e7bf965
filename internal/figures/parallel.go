package figures

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// InParallel has workers share work that is done a number of times. Workers and times are counted from 0. A
// worker that fails does no more. InParallel returns the failures when all is done, or all workers have
// failed.
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

// OwnCPU returns the processor time of this process, in user and kernel.
func OwnCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // Linux knows this call
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
