package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
)

// patience is for how many seconds in a row an objective has to be missed before
// a load is broken off.
const patience = 5

// Watch says early that an objective is lost. A load is lost when what was
// measured so far cannot be made up for by all that is still to come, or when
// the objective was missed in each of five seconds in a row.
type Watch struct {
	limit   objective.Objective
	planned int64 // operations at most; zero: not known
	total   *record.Results
	missed  int
}

// Watch begins to watch the trial, or all the parts of it together.
func (t *Trial) Watch(limit objective.Objective) (*Watch, error) {
	total, err := record.NewResults(record.Options{Operations: t.Operations()})
	w := &Watch{limit: limit, total: total}
	if t.Open() {
		w.planned = t.Due().Before(t.model.duration) * int64(t.longest)
	}
	return w, err
}

// Second looks at one more second and returns why the load is lost; empty when it
// is not.
func (w *Watch) Second(s Second) (lost string, err error) {
	if err := w.total.Merge(s.Results); err != nil {
		return "", err
	}
	at := fmt.Sprintf("after %.0f s ", s.Results.To.Seconds())
	if reasons := w.limit.Lost(w.total, w.planned); len(reasons) > 0 {
		return at + "the objective cannot be met any more: " + strings.Join(reasons, "; "), nil
	}
	summary := s.Results.Summarize(s.Results.To-s.Results.From, nil)
	reasons := w.limit.Breached(&summary)
	if len(reasons) == 0 {
		w.missed = 0
		return "", nil
	}
	if w.missed++; w.missed < patience {
		return "", nil
	}
	return fmt.Sprintf("%sthe objective was missed for %d seconds in a row: %s", at, patience,
		strings.Join(reasons, "; ")), nil
}

// AbortedError is why a load was broken off.
type AbortedError struct{ Why string }

// Error returns the reason.
func (a *AbortedError) Error() string { return "the load was broken off " + a.Why }

// Watched returns a context that ends when the objective is lost, if that is to
// break the load off, and what has to see every second for it.
func (t *Trial) Watched(
	ctx context.Context, limit objective.Objective, abort bool,
) (context.Context, func(Second) error, error) {
	if !abort {
		return ctx, func(Second) error { return nil }, nil
	}
	watch, err := t.Watch(limit)
	watched, cancel := context.WithCancelCause(ctx)
	return watched, func(s Second) error {
		lost, err := watch.Second(s)
		if lost != "" {
			cancel(&AbortedError{lost})
		}
		return err
	}, err
}

// Aborted returns what Play returned under a context of Watched: that the load was
// broken off is part of the outcome then and no error.
func Aborted(watched context.Context, o Outcome, err error) (Outcome, error) {
	var why *AbortedError
	if !errors.As(context.Cause(watched), &why) || o.Results == nil {
		return o, err
	}
	o.Summary.Aborted = why.Why
	return o, withoutCancellation(err)
}

// withoutCancellation returns the rest of joined errors without that of a
// context.
func withoutCancellation(err error) error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	var rest []error
	for _, one := range joined.Unwrap() {
		rest = append(rest, withoutCancellation(one))
	}
	return errors.Join(rest...)
}
