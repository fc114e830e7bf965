package fleet

import (
	"context"
	"errors"

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
