package database_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

// TestPoolJoinsTheTransaction checks that statements of a Pool are rolled back with the transaction that the
// context carries, they are counted, and their errors are those of this package.
func TestPoolJoinsTheTransaction(t *testing.T) {
	db := table(t, databasetest.Fresh(t, database.SQLite))
	before := db.Counters()
	failure := errors.New("no")
	err := db.Do(t.Context(), func(ctx context.Context) error {
		result, err := db.Pool().ExecContext(ctx, "UPDATE items SET amount = ?", 77)
		if err != nil {
			return err
		}
		if changed, err := result.RowsAffected(); err != nil || changed != 3 {
			t.Errorf("%d rows changed (%v), want 3", changed, err)
		}
		rows, err := db.Pool().QueryContext(ctx, "SELECT amount FROM items WHERE amount = 77")
		if err != nil {
			return err
		}
		read := int64(0)
		for rows.Next() {
			read++
		}
		if err := db.Pool().Read("", read, errors.Join(rows.Err(), rows.Close())); err != nil || read != 3 {
			t.Errorf("%d rows read in the transaction (%v), want 3", read, err)
		}
		return failure
	})
	var left int64
	scanErr := db.Pool().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM items WHERE amount = 77").Scan(&left)
	scanErr = db.Pool().Read("", 1, scanErr)
	if !errors.Is(err, failure) || scanErr != nil || left != 0 {
		t.Errorf("%d changes are left (%v, %v), want none", left, err, scanErr)
	}
	after := db.Counters()
	if after.Statements-before.Statements != 3 || after.RowsRead-before.RowsRead != 4 ||
		after.RowsChanged-before.RowsChanged != 3 {
		t.Errorf("counted %+v after %+v, want 3 statements, 4 rows read and 3 changed", after, before)
	}
	var ours *database.Error
	if _, err := db.Pool().ExecContext(t.Context(), "UPDATE nowhere SET x = 1"); !errors.As(err, &ours) {
		t.Errorf("a statement fails with %v, want a *database.Error", err)
	}
	if _, err := db.Pool().PrepareContext(t.Context(), "SELECT 1"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("PrepareContext: %v, want %v", err, errors.ErrUnsupported)
	}
}
