package fleet

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// SideBySide does something with units, or with what stands for them, so many at a time, until
// it fails with one: what the others say then is a consequence.
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

// ForAll does something with units, or with what stands for them, so many at a time. It goes on with the
// others where it fails with one, and returns all errors.
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
	return errors.Join(append(problems, group.Wait())...)
}
