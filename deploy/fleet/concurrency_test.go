package fleet

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestForAllGoesOnAfterErrors checks that ForAll calls do for all values and returns all errors, as the
// teardown of a trial needs it.
func TestForAllGoesOnAfterErrors(t *testing.T) {
	var done atomic.Int64
	err := ForAll(t.Context(), 1, []int{1, 2, 3, 4}, func(ctx context.Context, n int) error {
		done.Add(1)
		if n%2 == 1 {
			return fmt.Errorf("planted %d", n)
		}
		return ctx.Err()
	})
	if done.Load() != 4 || err == nil || err.Error() != "planted 1\nplanted 3" {
		t.Errorf("%d of 4 were done, error %v; want all, and both errors", done.Load(), err)
	}
}
