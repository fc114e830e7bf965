package database_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
)

// change returns work that sets the amount of an item.
func change(db *database.DB, name string, to int64) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := db.Exec(ctx, "UPDATE items SET amount = ? WHERE name = ?", to, name)
		return err
	}
}

// checkPrepared checks that the changes of a prepared transaction are invisible, that it keeps its locks and
// outlives its client, and that another client can commit it or roll it back. Work that fails prepares
// nothing. Another transaction that asks for the name of a prepared one fails and leaves that one alone.
func checkPrepared(t *testing.T, config database.Config) {
	ctx := t.Context()
	db := table(t, config)
	if config.Driver == database.SQLite {
		if err := db.Prepare(ctx, "one", change(db, "a", 1)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("SQLite prepares: %v", err)
		}
		return
	}
	failure := errors.New("no")
	err := db.Prepare(ctx, "failed", func(ctx context.Context) error {
		return errors.Join(change(db, "a", 1)(ctx), failure)
	})
	if !errors.Is(err, failure) {
		t.Errorf("work that fails: %v", err)
	}
	expectPrepared(t, db)
	config.Connections = 1
	client, err := database.Open(ctx, config)
	must(t, err)
	must(t, db.Prepare(ctx, "back", change(db, "a", 2)), db.Prepare(ctx, "on", change(db, "b", 3)))
	must(t, client.Prepare(ctx, "orphan", change(client, "c", 4)))
	expectPrepared(t, db, "back", "on", "orphan")
	if a, b := amount(t, ctx, db, "a"), amount(t, ctx, db, "b"); a != 10 || b != 10 {
		t.Errorf("a = %d, b = %d before the end", a, b)
	}
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := db.Prepare(short, "late", change(db, "a", 5)); err == nil {
		t.Error("a row is changed that a prepared transaction has locked")
	}
	if config.Driver == database.MariaDB {
		if err := db.End(ctx, "orphan", true); !database.IsUnavailable(err) {
			t.Errorf("another connection's transaction: %v", err)
		}
	}
	// Ending a transaction again changes nothing.
	must(t, db.End(ctx, "back", false), db.End(ctx, "on", true), db.End(ctx, "on", true), client.Close())
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // the server must notice the close
		if db.Prepare(ctx, "orphan", func(context.Context) error { return nil }) == nil {
			t.Fatal("the name of a prepared transaction is given to another one")
		}
		if err = db.End(ctx, "orphan", true); err == nil || time.Now().After(end) {
			break
		}
	}
	must(t, err)
	expectPrepared(t, db)
	endsOnce(t, db)
	for name, want := range map[string]int64{"a": 10, "b": 3, "c": 4} {
		if got := amount(t, ctx, db, name); got != want {
			t.Errorf("%s = %d in the end, want %d", name, got, want)
		}
	}
	checkObservedEnds(t, config)
	// Prepare, End and Do do not keep the only connection of a pool.
	other := databasetest.Open(t, config)
	must(t, other.Prepare(ctx, "last", change(other, "a", 6)), other.End(ctx, "last", true),
		other.Do(ctx, change(other, "b", 7)))
}

// checkObservedEnds checks that an observer sees the end of a prepared transaction as what it is.
func checkObservedEnds(t *testing.T, config database.Config) {
	t.Helper()
	seen := &recorder{}
	config.Observer = seen
	db := databasetest.Open(t, config)
	for commit, want := range map[bool]string{true: "commit [] 0", false: "rollback [] 0"} {
		must(t, db.Prepare(t.Context(), "seen", change(db, "a", 10)))
		seen.lines = nil
		must(t, db.End(t.Context(), "seen", commit))
		if !slices.Equal(seen.lines, []string{want}) {
			t.Errorf("the end, commit %t, is observed as %q, want %q", commit, seen.lines, want)
		}
	}
}

// endsOnce checks that several goroutines may end a transaction at the same time, and none gets an error.
func endsOnce(t *testing.T, db *database.DB) {
	t.Helper()
	for range 10 {
		must(t, db.Prepare(t.Context(), "shared", change(db, "a", 10)))
		ends := make(chan error)
		for range 8 {
			go func() { ends <- db.End(t.Context(), "shared", true) }()
		}
		for range 8 {
			if err := <-ends; err != nil {
				t.Errorf("End at the same time as others: %v", err)
			}
		}
	}
}

// TestCheckPrepare checks that CheckPrepare fails for a server that prepares no transactions, and only for
// that.
func TestCheckPrepare(t *testing.T) {
	instance := servers.Started(t, server.Postgres, server.Settings{})
	place, err := database.ParsePlace(instance.URL())
	must(t, err)
	for _, disabled := range []bool{false, true} {
		db, err := database.Open(t.Context(), place.Config("postgres", 1))
		must(t, err)
		if err := db.CheckPrepare(t.Context()); (err != nil) != disabled ||
			disabled && !strings.Contains(err.Error(), "set max_prepared_transactions") {
			t.Errorf("CheckPrepare: %v, want an error: %t", err, disabled)
		}
		if !disabled {
			exec(t, t.Context(), db, "ALTER SYSTEM SET max_prepared_transactions = 0")
			must(t, instance.Restart(t.Context()))
		}
		must(t, db.Close())
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func expectPrepared(t *testing.T, db *database.DB, want ...string) {
	t.Helper()
	got, err := db.Prepared(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("prepared are %v, error %v, want %v", got, err, want)
	}
}
