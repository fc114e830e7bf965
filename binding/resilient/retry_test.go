package resilient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// TestARefusedRetryIsNoUnsentCall: a call whose retry the breaker refuses fails with the error of the attempt
// that was sent, because it may have been carried out, and the retry goes back to the budget. Only a call
// without any attempt is reported as not sent.
func TestARefusedRetryIsNoUnsentCall(t *testing.T) {
	for _, perCall := range []float64{0, 0.2} {
		synctest.Test(t, func(t *testing.T) {
			guard := New(Settings{Retries: 3, Budget: perCall, Breaker: true,
				Repeatable: func(method string) bool { return method == "repeatable" }}).ForUnit()
			sent := 0
			lost := rpc.Problemf(rpc.Unavailable, "no answer")
			do := func(method string) error {
				return guard.Do(t.Context(), method, func(context.Context) error { sent++; return lost })
			}
			for range tripsAfter - 1 {
				_ = do("once") // the breaker counts it
			}
			if err := do("repeatable"); !errors.Is(err, lost) || sent != tripsAfter {
				t.Errorf("%v after %d calls were sent, want %v after %d", err, sent, lost, tripsAfter)
			}
			if guard.budget != nil && guard.budget.retries != perCall*budgetCalls {
				t.Errorf("%g retries are left, want all %g", guard.budget.retries, perCall*budgetCalls)
			}
			if err := do("repeatable"); !strings.Contains(err.Error(), "not sent") || sent != tripsAfter {
				t.Errorf("while the breaker is open: %v, and %d calls were sent", err, sent)
			}
		})
	}
}

// TestTheEndOfTheContext: a retry that is not sent because the context ends in the pause before it goes back
// to the budget. An attempt that succeeds while the context ends is a success.
func TestTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perCall = 0.2
		guard := New(Settings{Retries: 3, Budget: perCall}).ForUnit()
		ctx, cancel := context.WithTimeout(t.Context(), firstPause/4)
		defer cancel()
		err := guard.Do(ctx, "", func(context.Context) error { return rpc.Problemf(rpc.Unavailable, "no answer") })
		if !errors.Is(err, context.DeadlineExceeded) || guard.budget.retries != perCall*budgetCalls {
			t.Errorf("%v, and %g retries are left, want all %g", err, guard.budget.retries, perCall*budgetCalls)
		}
		ctx, give := context.WithCancel(t.Context())
		if err := guard.Do(ctx, "", func(context.Context) error { give(); return nil }); err != nil {
			t.Errorf("an attempt that succeeds: %v", err)
		}
		time.Sleep(time.Second) // what is started for a context ends with it
	})
}

// endingContext ends as soon as somebody has asked whether it has, once an attempt was sent.
type endingContext struct {
	context.Context
	end  context.CancelFunc
	sent bool
}

// Err implements context.Context.
func (c *endingContext) Err() error {
	err := c.Context.Err()
	if c.sent {
		c.end()
	}
	return err
}

// TestTheContextEndsAfterASuccess: a call that has succeeded does not fail because its context ends right
// after the attempt.
func TestTheContextEndsAfterASuccess(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	ending := &endingContext{Context: ctx, end: end}
	guard := New(Settings{Retries: 3}).ForUnit()
	err := guard.Do(ending, "", func(context.Context) error { ending.sent = true; return nil })
	if err != nil || ctx.Err() == nil {
		t.Errorf("%v, and the context ended with %v, want no error and an ended context", err, ctx.Err())
	}
}

// TestABudgetHoldsNoMoreThanItsSize, also if calls fill it before a retry goes back.
func TestABudgetHoldsNoMoreThanItsSize(t *testing.T) {
	b := newBudget(0.2)
	if !b.take() {
		t.Fatal("a full budget has no retry")
	}
	for range budgetCalls {
		b.add(0.2)
	}
	if b.add(1); b.retries != 0.2*budgetCalls {
		t.Errorf("%g retries are left, want %g", b.retries, 0.2*budgetCalls)
	}
}
