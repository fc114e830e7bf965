package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/singleflight"
)

// TestFlowsShareOneAttempt to connect: a flow that gives up does not end the attempt for the others.
func TestFlowsShareOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flows = 8
		var attempts singleflight.Group
		var begun atomic.Int64
		connects := make(chan error)
		ended := make(chan error)
		connect := func() error {
			begun.Add(1)
			return <-connects
		}
		for range flows {
			go func() { ended <- joinAttempt(t.Context(), &attempts, connect) }()
		}
		synctest.Wait()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := joinAttempt(cancelled, &attempts, connect); !errors.Is(err, context.Canceled) {
			t.Errorf("the flow that gives up gets %v", err)
		}
		connects <- errDone
		for range flows {
			if err := <-ended; !errors.Is(err, errDone) {
				t.Errorf("one of the others gets %v", err)
			}
		}
		if n := begun.Load(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}
