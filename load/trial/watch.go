package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
)

// patience is the number of consecutive seconds that must miss the objective before a load is ended
// early.
const patience = 5

// lossWatch decides early that a load misses its objective: when the rest of the load cannot make up for
// the results so far, or when each of five consecutive seconds missed the objective.
type lossWatch struct {
	limit   objective.Objective
	planned int64 // highest number of operations; zero: unknown
	total   *record.Results
	missed  int // consecutive seconds
}

// newLossWatch returns the watch for the trial, or for all its parts together.
func (t *Trial) newLossWatch(limit objective.Objective) *lossWatch {
	w := &lossWatch{limit: limit, total: record.NewResults(record.Options{Operations: t.Operations()})}
	if t.Open() {
		flows := t.Due().Before(t.model.duration)
		w.planned = flows * int64(t.spec.Scenario.LongestFlow())
	}
	return w
}

// add adds one more second and returns the conditions of the objective that can no longer be met.
func (w *lossWatch) add(s Second) ([]string, error) {
	if err := w.total.Merge(s.Results); err != nil {
		return nil, err
	}
	return w.limit.Lost(w.total, w.planned), nil
}

// addAndJudge adds one more second and returns the reason why the load is lost, or "". Unlike add, it also
// judges each second by itself, and gives up after patience of them in a row.
func (w *lossWatch) addAndJudge(s Second) (lost string, err error) {
	reasons, err := w.add(s)
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

// AbortedError is the cause of a load that was ended early because it misses its objective.
type AbortedError struct{ Why string }

// Error returns the reason.
func (a *AbortedError) Error() string { return "the load was broken off: " + a.Why }

// Watched returns a context for the load and a function to call with every second of it. If abort is set,
// the context ends when the objective is lost.
func (t *Trial) Watched(
	ctx context.Context, limit objective.Objective, abort bool,
) (context.Context, func(Second) error) {
	if !abort {
		return ctx, func(Second) error { return nil }
	}
	watch := t.newLossWatch(limit)
	watched, cancel := context.WithCancelCause(ctx)
	return watched, func(s Second) error {
		lost, err := watch.addAndJudge(s)
		if lost != "" {
			cancel(&AbortedError{lost})
		}
		return err
	}
}

// Aborted converts the error of a Play that a context of Watched ended into a part of the outcome. It
// returns other errors unchanged.
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
