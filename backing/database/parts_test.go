package database_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

var errRule = errors.New("a rule of the caller")

// TestTryUndoesOnlyItsPart lets parts of a transaction fail, nested ones too, while the
// transaction goes on.
func TestTryUndoesOnlyItsPart(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		exec(t, t.Context(), db, "CREATE TABLE parts (id INTEGER NOT NULL PRIMARY KEY)")
		// insert returns work that inserts a row, tries the inner parts and then returns end.
		insert := func(id int, end error, inner ...func(context.Context) error) func(context.Context) error {
			return func(ctx context.Context) error {
				exec(t, ctx, db, "INSERT INTO parts (id) VALUES (?)", id)
				for _, part := range inner {
					if err := db.Try(ctx, part); err != nil && !errors.Is(err, errRule) {
						return err
					}
				}
				// A Do that fails inside a part dooms only that part.
				if end != nil {
					return db.Do(ctx, func(context.Context) error { return end })
				}
				return nil
			}
		}
		err := db.Do(t.Context(), insert(1, nil, insert(2, errRule),
			insert(3, nil, insert(4, errRule), insert(5, nil)), insert(6, errRule, insert(7, nil))))
		must(t, err)
		if got := ids(t, db); !slices.Equal(got, []int{1, 3, 5}) {
			t.Errorf("kept %v, want the parts that did not fail", got)
		}
		if err := db.Try(t.Context(), insert(8, errRule)); !errors.Is(err, errRule) {
			t.Errorf("alone: %v", err)
		}
		if got := ids(t, db); len(got) != 3 {
			t.Errorf("kept %v after a part that was a transaction of its own failed", got)
		}
	})
}

// TestTryReportsAnIgnoredFailure ignores the error of a Do inside a part: Try must return ErrDoomed, but the
// transaction can still commit.
func TestTryReportsAnIgnoredFailure(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		err := db.Do(t.Context(), func(ctx context.Context) error {
			err := db.Try(ctx, func(ctx context.Context) error {
				_ = db.Do(ctx, func(context.Context) error { return errRule })
				return nil
			})
			if !errors.Is(err, database.ErrDoomed) {
				t.Errorf("error %v, want doomed", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// ruleErrors is an error that cannot be compared with ==, as lists of errors are.
type ruleErrors []string

// Error implements error.
func (r ruleErrors) Error() string { return strings.Join(r, ", ") }

// TestTryInADoomedTransaction calls Try in a transaction that an ignored error has doomed already: the part
// succeeds, and the whole transaction fails. The error has a type that cannot be compared with ==.
func TestTryInADoomedTransaction(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		err := db.Do(t.Context(), func(ctx context.Context) error {
			_ = db.Do(ctx, func(context.Context) error { return ruleErrors{"a rule"} })
			return db.Try(ctx, func(context.Context) error { return nil })
		})
		var rules ruleErrors
		if !errors.Is(err, database.ErrDoomed) || !errors.As(err, &rules) {
			t.Errorf("error %v, want doomed by the rule", err)
		}
	})
}

func TestAfterCommitIsCalledAfterACommitOnly(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		var calls []string
		call := func(name string) func() { return func() { calls = append(calls, name) } }
		db.AfterCommit(t.Context(), call("no transaction"))
		err := db.Do(t.Context(), func(ctx context.Context) error {
			db.AfterCommit(ctx, call("committed"))
			err := db.Try(ctx, func(ctx context.Context) error {
				db.AfterCommit(ctx, call("part undone"))
				return errRule
			})
			if len(calls) != 1 {
				t.Errorf("before the commit: %v", calls)
			}
			return db.Do(ctx, func(ctx context.Context) error {
				db.AfterCommit(ctx, call("inner"))
				if errors.Is(err, errRule) { // as it should be: the failed part does not fail the transaction
					return nil
				}
				return err
			})
		})
		must(t, err)
		_ = db.Do(t.Context(), func(ctx context.Context) error {
			db.AfterCommit(ctx, call("rolled back"))
			return errRule
		})
		if want := []string{"no transaction", "committed", "inner"}; !slices.Equal(calls, want) {
			t.Errorf("called %v, want %v", calls, want)
		}
	})
}

func exec(t *testing.T, ctx context.Context, db *database.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(ctx, text, args...); err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T, db *database.DB) []int {
	t.Helper()
	var all []int
	err := db.Each(t.Context(), func(row database.Row) error {
		var id int
		err := row.Scan(&id)
		all = append(all, id)
		return err
	}, "SELECT id FROM parts ORDER BY id")
	must(t, err)
	return all
}
