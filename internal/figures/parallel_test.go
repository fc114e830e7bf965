package figures

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestInParallelDoesAllOnce: every call is made once. If a worker fails, the others make the rest of the
// calls.
func TestInParallelDoesAllOnce(t *testing.T) {
	const workers = 4
	for _, failing := range []int{-1, 7} {
		var done [100]atomic.Int64
		err := InParallel(workers, len(done), func(worker, n int) error {
			if worker < 0 || worker >= workers {
				t.Errorf("number %d is done by worker %d", n, worker)
			}
			done[n].Add(1)
			if n == failing {
				return errors.New("it is broken")
			}
			return nil
		})
		for n := range done {
			if got := done[n].Load(); got != 1 {
				t.Errorf("number %d was done %d times", n, got)
			}
		}
		if (err != nil) != (failing >= 0) {
			t.Errorf("%d fails: %v", failing, err)
		}
	}
}

// TestInParallelWorksAtTheSameTime: each worker waits until all others work, too.
func TestInParallelWorksAtTheSameTime(t *testing.T) {
	const workers = 4
	var here sync.WaitGroup
	here.Add(workers)
	var seen [workers]atomic.Int64
	err := InParallel(workers, workers, func(worker, _ int) error {
		seen[worker].Add(1)
		here.Done()
		here.Wait()
		return nil
	})
	for worker := range seen {
		if got := seen[worker].Load(); got != 1 || err != nil {
			t.Errorf("worker %d made %d calls, %v", worker, got, err)
		}
	}
}

// TestInParallelEndsWithItsWorkers: a worker stops after its failure, and all failures are returned.
func TestInParallelEndsWithItsWorkers(t *testing.T) {
	var done atomic.Int64
	broken := []error{errors.New("a"), errors.New("b"), errors.New("c")}
	err := InParallel(len(broken), 100, func(worker, _ int) error {
		done.Add(1)
		return broken[worker]
	})
	if done.Load() != int64(len(broken)) || err == nil || err.Error() != "a\nb\nc" {
		t.Errorf("%d were done by workers that fail: %v", done.Load(), err)
	}
}

func TestOwnCPURises(t *testing.T) {
	before := OwnCPU()
	after := time.Duration(0)
	for after = before; after == before; after = OwnCPU() {
	}
	if after < before {
		t.Errorf("%v became %v", before, after)
	}
}
