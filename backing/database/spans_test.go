package database_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/spans"
)

// TestStatementsOfTracedOperationsAreSpans checks that every round trip and every wait for a
// connection has a span if the operation is traced, and none otherwise.
func TestStatementsOfTracedOperationsAreSpans(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db := databasetest.Open(t, fresh(t))
		ctx := t.Context()
		work := func(ctx context.Context) error {
			return db.Do(ctx, func(ctx context.Context) error {
				if _, err := db.Exec(ctx, "INSERT INTO things (id) VALUES (?)", 1); err != nil {
					return err
				}
				if _, err := db.Exec(ctx, "UPDATE things SET id = id WHERE id = ?", 1); err != nil {
					return err
				}
				_, err := db.Exec(ctx, "DELETE FROM things")
				return err
			})
		}
		exec(t, ctx, db, "CREATE TABLE things (id BIGINT NOT NULL)")
		provider := spans.NewProvider(1)
		traced, operation := spans.Enter(ctx, provider, "operation")
		var n int64
		_, err := db.One(traced, []any{&n}, "SELECT COUNT(*) FROM things")
		refused := errors.New("refused")
		rollbackErr := db.Do(traced, func(context.Context) error { return refused })
		if err := errors.Join(err, work(ctx), work(traced)); err != nil || !errors.Is(rollbackErr, refused) {
			t.Fatal(err, rollbackErr)
		}
		operation.End()
		var got []string
		for _, r := range recorded(t, provider) {
			got = append(got, string(r.Kind)+": "+r.Name)
		}
		want := []string{
			"queueing: wait for a connection", "database: SELECT things",
			"queueing: wait for a connection", "database: BEGIN", "database: ROLLBACK",
			"queueing: wait for a connection", "database: BEGIN", "database: INSERT things", "database: UPDATE things",
			"database: DELETE things", "database: COMMIT", "business code: operation",
		}
		if !slices.Equal(got, want) {
			t.Errorf("spans %q, want %q", got, want)
		}
	})
}

// recorded returns the spans of a provider, in the order in which they ended.
func recorded(t *testing.T, provider *spans.Provider) []spans.Record {
	t.Helper()
	dir := t.TempDir()
	must(t, provider.Write(dir, "unit"))
	records, err := spans.Read(dir)
	must(t, err)
	return records
}

// TestSpansOfPreparedTransactions: they have the names of those of other transactions, without the name of
// the transaction.
func TestSpansOfPreparedTransactions(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		const wait = "wait for a connection"
		config := fresh(t)
		want := map[database.Driver][]string{
			database.MariaDB:    {wait, "BEGIN", "BEGIN", "UPDATE items", "XA END", "XA PREPARE", "ROLLBACK"},
			database.PostgreSQL: {wait, "BEGIN", "UPDATE items", "PREPARE TRANSACTION", wait, "ROLLBACK"},
		}[config.Driver]
		if want == nil {
			return // it prepares no transactions
		}
		db := table(t, config)
		provider := spans.NewProvider(1)
		traced, operation := spans.Enter(t.Context(), provider, "operation")
		must(t, db.Prepare(traced, "a", change(db, "a", 1)), db.End(traced, "a", false))
		operation.End()
		records := recorded(t, provider)
		var got []string
		for _, r := range records[:len(records)-1] { // without the operation
			got = append(got, r.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("spans %q, want %q", got, want)
		}
	})
}
