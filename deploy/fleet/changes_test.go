package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestAwaitSeesEveryChange checks that all who wait look again after every change, and that the end of their
// context, and their own error, end the wait.
func TestAwaitSeesEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Changes
		state := 0
		waiting := make(chan error)
		for range 2 {
			go func() { waiting <- c.Await(t.Context(), func() (bool, error) { return state == 2, nil }) }()
		}
		for range 2 {
			synctest.Wait()
			select {
			case err := <-waiting:
				t.Fatalf("the wait has ended in the state %d (%v)", state, err)
			default:
			}
			c.Update(func() { state++ })
		}
		for range 2 {
			if err := <-waiting; err != nil {
				t.Error(err)
			}
		}
		wrong := errors.New("wrong")
		over := errors.New("over")
		if err := c.Await(t.Context(), func() (bool, error) { return false, wrong }); !errors.Is(err, wrong) {
			t.Errorf("it ends with %v, want %v", err, wrong)
		}
		ctx, end := context.WithCancelCause(t.Context())
		go func() { waiting <- c.Await(ctx, func() (bool, error) { return false, nil }) }()
		synctest.Wait()
		end(over)
		if err := <-waiting; !errors.Is(err, over) {
			t.Errorf("it ends with %v, want %v", err, over)
		}
	})
}
