package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
)

// patience is the number of seconds in a row in which the objective must be missed before
// a load is broken off.
const patience = 5

// lossWatch decides early that a load has lost its objective: when nothing that is still
// to come can make up for what was measured so far, or when the objective was missed in
// each of five seconds in a row.
type lossWatch struct {
	limit   objective.Objective
	planned int64 // highest number of operations; zero: not known
	total   *record.Results
	missed  int // seconds in a row
}

// newLossWatch returns the watch of the trial, or of all its parts together.
func (t *Trial) newLossWatch(limit objective.Objective) (*lossWatch, error) {
	total, err := record.NewResults(record.Options{Operations: t.Operations()})
	w := &lossWatch{limit: limit, total: total}
	if t.Open() {
		w.planned = t.Due().Before(t.model.duration) * int64(t.longest)
	}
	return w, err
}

// hopeless adds one more second and returns the terms of the objective that cannot be met
// any more, whatever is still to come.
func (w *lossWatch) hopeless(s Second) ([]string, error) {
	if err := w.total.Merge(s.Results); err != nil {
		return nil, err
	}
	return w.limit.Lost(w.total, w.planned), nil
}

// second adds one more second and returns why the load is lost; empty: it is not.
func (w *lossWatch) second(s Second) (lost string, err error) {
	reasons, err := w.hopeless(s)
	at := fmt.Sprintf("after %.0f s ", s.Results.To.Seconds())
	switch {
	case err != nil:
		return "", err
	case len(reasons) > 0:
		return at + "the objective cannot be met any more: " + strings.Join(reasons, "; "), nil
	}
	summary := s.Results.Summarize(s.Results.To-s.Results.From, nil)
	if reasons = w.limit.Breached(&summary); len(reasons) == 0 {
		w.missed = 0
		return "", nil
	}
	if w.missed++; w.missed < patience {
		return "", nil
	}
	return fmt.Sprintf("%sthe objective was missed for %d seconds in a row: %s", at, patience,
		strings.Join(reasons, "; ")), nil
}

// AbortedError is the error of a load that was broken off.
type AbortedError struct{ Why string }

// Error returns the reason.
func (a *AbortedError) Error() string { return "the load was broken off " + a.Why }

// Watched returns a context and a function to call with every second of the load. If
// abort is set, the context ends when the objective is lost.
func (t *Trial) Watched(
	ctx context.Context, limit objective.Objective, abort bool,
) (context.Context, func(Second) error, error) {
	if !abort {
		return ctx, func(Second) error { return nil }, nil
	}
	watch, err := t.newLossWatch(limit)
	watched, cancel := context.WithCancelCause(ctx)
	return watched, func(s Second) error {
		lost, err := watch.second(s)
		if lost != "" {
			cancel(&AbortedError{lost})
		}
		return err
	}, err
}

// Aborted turns the error of a Play that was broken off by a context of Watched into a
// part of the outcome. Other errors stay.
func Aborted(watched context.Context, o Outcome, err error) (Outcome, error) {
	var why *AbortedError
	if !errors.As(context.Cause(watched), &why) || o.Results == nil {
		return o, err
	}
	o.Summary.Aborted = why.Why
	return o, withoutCancellation(err)
}

// withoutCancellation returns joined errors without those of a cancelled context.
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
