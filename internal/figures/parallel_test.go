package figures

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestInParallelDoesAllOnce: also where a worker fails, whose part the others do.
func TestInParallelDoesAllOnce(t *testing.T) {
	for _, failing := range []int{-1, 7} {
		var done [100]atomic.Int64
		err := InParallel(4, len(done), func(_, n int) error {
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

func TestOwnCPURises(t *testing.T) {
	before, x := OwnCPU(), 0
	for OwnCPU() == before {
		x++
	}
	if after := OwnCPU(); after <= before {
		t.Errorf("%v became %v after %d looks", before, after, x)
	}
}
