package fleet

import (
	"context"
	"fmt"
	"time"
)

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
