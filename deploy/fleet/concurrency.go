package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// SideBySide calls do for all values concurrently, at most atOnce at a time. It stops at the first error and
// returns that: errors of the others may be consequences.
func SideBySide[T any](ctx context.Context, atOnce int, all []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, one := range all {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, one)
		})
	}
	return group.Wait()
}

// ForAll calls do for all values concurrently, at most atOnce at a time. It continues after errors and
// returns all of them.
func ForAll[T any](ctx context.Context, atOnce int, all []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	problems := make([]error, len(all))
	for i, one := range all {
		group.Go(func() error {
			problems[i] = do(ctx, one)
			return nil
		})
	}
	_ = group.Wait() // problems has the errors
	return errors.Join(problems...)
}

// WithEnd returns a context that also ends when ended is closed; its cause is then the error that why
// returns.
func WithEnd(
	ctx context.Context, ended <-chan struct{}, why func() error,
) (_ context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
			end(why())
		}
	}()
	return ctx, func() { end(nil) }
}

// Until repeats look, with a pause after each call, until it is done, and returns its error. While it is not
// done, its error says what is missing; if ctx ends, Until returns that error with the cause of ctx.
func Until(ctx context.Context, pause time.Duration, look func() (done bool, err error)) error {
	for {
		done, err := look()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			if err == nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// leastPatience is the shortest time that a request gets, so that its error tells why there is no answer.
const leastPatience = time.Second

// Patient returns a context for a request to a cluster that has last answered at a time, and that may be
// silent for patience.
func Patient(
	ctx context.Context, answered time.Time, patience time.Duration,
) (context.Context, context.CancelFunc) {
	left := time.Until(answered.Add(patience))
	return context.WithTimeoutCause(ctx, max(left, leastPatience), errors.New("it is silent"))
}
