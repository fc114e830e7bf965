package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// TestDatabases tests the contract of a DB with every kind of database.
func TestDatabases(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		for name, check := range map[string]func(t *testing.T, config database.Config){
			"values come back":                    checkValues,
			"spaces at the end count":             checkSpaces,
			"existing rows are kept":              checkKeepExisting,
			"many rows":                           checkManyRows,
			"contended work is retried":           checkContended,
			"commit and rollback":                 checkCommitAndRollback,
			"inner Do joins":                      checkJoin,
			"swallowed failures doom":             checkDoomed,
			"panics roll back":                    checkPanic,
			"conditional updates":                 checkConditional,
			"deadlocks are retried":               checkDeadlock,
			"deadlocks of a statement alone":      checkDeadlockAlone,
			"rows in order of keys":               checkKeyOrder,
			"snapshots do not change":             checkSnapshot,
			"counters and observer":               checkCounters,
			"syncs are counted":                   checkSyncs,
			"cancelled contexts":                  checkCancelled,
			"contexts that end before the commit": checkLateCommit,
			"more texts than are kept":            checkManyTexts,
			"prepared transactions":               checkPrepared,
		} {
			t.Run(name, func(t *testing.T) { check(t, open(t)) })
		}
	})
}

// table opens a database with one table, items, which has the rows a, b and c with an amount of 10 each.
func table(t *testing.T, config database.Config) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	run(t, db, "CREATE TABLE items (name VARCHAR(20) PRIMARY KEY, amount BIGINT NOT NULL)")
	run(t, db, "INSERT INTO items (name, amount) VALUES "+database.Values(3, 2), "a", 10, "b", 10, "c", 10)
	return db
}

func run(t *testing.T, db *database.DB, query string, args ...any) int64 {
	t.Helper()
	changed, err := db.Exec(context.Background(), query, args...)
	must(t, err)
	return changed
}

// amount returns the amount of an item, or -1 if there is none.
func amount(t *testing.T, ctx context.Context, db *database.DB, name string) int64 {
	t.Helper()
	var value int64
	found, err := db.One(ctx, []any{&value}, "SELECT amount FROM items WHERE name = ?", name)
	must(t, err)
	if !found {
		return -1
	}
	return value
}

func checkValues(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	const strange = `é ? $1 ' "`
	run(t, db, "INSERT INTO items (name, amount) VALUES (?, ?)", strange, int64(1)<<62)
	if got := amount(t, ctx, db, strange); got != int64(1)<<62 {
		t.Errorf("amount = %d", got)
	}
	var names []string
	err := db.Each(ctx, func(row database.Row) error {
		var name string
		err := row.Scan(&name)
		names = append(names, name)
		return err
	}, "SELECT name FROM items WHERE name <> ? ORDER BY name", strange)
	if err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("names = %v, %v", names, err)
	}
	if got := amount(t, ctx, db, "missing"); got != -1 {
		t.Errorf("a missing row was found: %d", got)
	}
	var broken *database.Error
	if _, err := db.Exec(ctx, "UPDATE nothing SET x = ?", 1); !errors.As(err, &broken) || broken.Unavailable() ||
		!strings.Contains(err.Error(), "UPDATE nothing") {
		t.Errorf("error = %v", err)
	}
}

func checkKeepExisting(t *testing.T, config database.Config) {
	db := table(t, config)
	insert := "INSERT INTO items (name, amount) VALUES (?, ?), (?, ?)" + db.KeepExisting("name")
	if added := run(t, db, insert, "a", 99, "d", 5); added != 1 {
		t.Errorf("added %d rows, want 1", added)
	}
	if got := amount(t, context.Background(), db, "a"); got != 10 {
		t.Errorf("the existing row has become %d", got)
	}
}

// checkCommitAndRollback checks that Do rolls back if work returns an error, and commits otherwise.
func checkCommitAndRollback(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	failure := errors.New("no")
	for _, result := range []error{failure, nil} {
		err := db.Do(ctx, func(ctx context.Context) error {
			if _, err := db.Exec(ctx, "UPDATE items SET amount = amount - 1 WHERE name = ?", "a"); err != nil {
				return err
			}
			if got := amount(t, ctx, db, "a"); got != 9 {
				t.Errorf("inside, amount = %d", got)
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Fatalf("Do = %v, want %v", err, result)
		}
		want := int64(9)
		if result != nil {
			want = 10
		}
		if got := amount(t, ctx, db, "a"); got != want {
			t.Errorf("after %v, amount = %d, want %d", result, got, want)
		}
	}
}

func checkJoin(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	failure := errors.New("no")
	take := func(ctx context.Context, name string) error {
		return db.Do(ctx, func(ctx context.Context) error {
			_, err := db.Exec(ctx, "UPDATE items SET amount = amount - 1 WHERE name = ?", name)
			return err
		})
	}
	err := db.Do(ctx, func(ctx context.Context) error {
		return errors.Join(take(ctx, "a"), take(ctx, "b"), failure)
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if a, b := amount(t, ctx, db, "a"), amount(t, ctx, db, "b"); a != 10 || b != 10 {
		t.Errorf("a = %d, b = %d: a part was committed alone", a, b)
	}
	if commits := db.Counters().Commits; commits != 0 {
		t.Errorf("%d commits", commits)
	}
}

func checkDoomed(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	part := errors.New("a part fails")
	err := db.Do(ctx, func(ctx context.Context) error {
		_ = db.Do(ctx, func(ctx context.Context) error {
			_, err := db.Exec(ctx, "UPDATE items SET amount = 0 WHERE name = ?", "a")
			return errors.Join(err, part)
		})
		return nil
	})
	if !errors.Is(err, database.ErrDoomed) || !errors.Is(err, part) {
		t.Errorf("Do = %v", err)
	}
	if got := amount(t, ctx, db, "a"); got != 10 {
		t.Errorf("half a part was committed: %d", got)
	}
}

// checkPanic checks that a panic in Do rolls the transaction back and frees its connection, the only one.
func checkPanic(t *testing.T, config database.Config) {
	config.Connections = 1
	db := table(t, config)
	func() {
		defer func() { _ = recover() }()
		_ = db.Do(context.Background(), func(ctx context.Context) error {
			_, _ = db.Exec(ctx, "UPDATE items SET amount = 0 WHERE name = ?", "a")
			panic("work fails")
		})
	}()
	if got := amount(t, context.Background(), db, "a"); got != 10 {
		t.Errorf("amount = %d", got)
	}
}

// checkConditional lets 25 concurrent transactions take 1 from a row of 10: exactly 10 must succeed.
func checkConditional(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	var mu sync.Mutex
	taken := int64(0)
	together(t, 25, func(int) error {
		return db.Do(ctx, func(ctx context.Context) error {
			changed, err := db.Exec(ctx, "UPDATE items SET amount = amount - 1 WHERE name = ? AND amount >= 1", "a")
			mu.Lock()
			taken += changed
			mu.Unlock()
			return err
		})
	})
	if got := amount(t, ctx, db, "a"); got != 0 || taken != 10 {
		t.Errorf("%d left, %d taken of 10", got, taken)
	}
}

func checkSnapshot(t *testing.T, config database.Config) {
	db := table(t, config)
	outside := context.Background()
	err := db.Snapshot(outside, func(ctx context.Context) error {
		before := amount(t, ctx, db, "a")
		run(t, db, "UPDATE items SET amount = 1 WHERE name = ?", "a")
		if after := amount(t, ctx, db, "a"); after != before {
			t.Errorf("within a snapshot, %d became %d", before, after)
		}
		return nil
	})
	must(t, err)
	if got := amount(t, outside, db, "a"); got != 1 {
		t.Errorf("after it, amount = %d", got)
	}
}

// recorder is an Observer that keeps the kind, the arguments and the rows of each statement.
type recorder struct{ lines []string }

func (r *recorder) Observe(_ context.Context, s database.Statement) {
	r.lines = append(r.lines, fmt.Sprintf("%s %v %d", s.Kind, s.Args, s.Rows))
}

func checkCounters(t *testing.T, config database.Config) {
	seen := &recorder{}
	config.Observer = seen
	db := table(t, config)
	before := db.Counters()
	seen.lines = nil
	err := db.Do(context.Background(), func(ctx context.Context) error {
		if _, err := db.Exec(ctx, "UPDATE items SET amount = amount + ?", 5); err != nil {
			return err
		}
		return db.Each(ctx, func(row database.Row) error { return row.Scan(new(int64)) },
			"SELECT amount FROM items WHERE name < ?", "c")
	})
	must(t, err)
	after := db.Counters()
	got := []int64{after.Statements - before.Statements, after.RowsChanged - before.RowsChanged,
		after.RowsRead - before.RowsRead, after.Commits - before.Commits}
	if want := []int64{2, 3, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("statements, rows changed, rows read, commits = %v, want %v", got, want)
	}
	if writes := after.Writes - before.Writes; writes != 1 {
		t.Errorf("%d commits have changed rows, want 1", writes)
	}
	want := []string{"begin [] 0", "exec [5] 3", "query [c] 2", "commit [] 0"}
	if !slices.Equal(seen.lines, want) {
		t.Errorf("observed %q, want %q", seen.lines, want)
	}
	checkWrites(t, db)
}

// checkWrites checks that Writes counts the commits, of transactions and of single statements, that
// changed rows, and no others.
func checkWrites(t *testing.T, db *database.DB) {
	ctx := context.Background()
	failure := errors.New("no")
	update := func(by int, name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := db.Exec(ctx, "UPDATE items SET amount = amount + ? WHERE name = ?", by, name)
			return err
		}
	}
	undo := func(ctx context.Context) error { // changes a row and undoes that
		err := db.Try(ctx, func(ctx context.Context) error { return errors.Join(update(1, "b")(ctx), failure) })
		if errors.Is(err, failure) {
			return nil
		}
		return err
	}
	for _, c := range []struct {
		name string
		do   func() error
		want int64
	}{
		{"a statement", func() error { return update(1, "a")(ctx) }, 1},
		{"a statement that changes nothing", func() error { return update(1, "nobody")(ctx) }, 0},
		{"a transaction that changes nothing", func() error { return db.Do(ctx, update(1, "nobody")) }, 0},
		{"a transaction of two statements", func() error {
			return db.Do(ctx, func(ctx context.Context) error {
				return errors.Join(update(1, "a")(ctx), update(1, "b")(ctx))
			})
		}, 1},
		{"a transaction that fails", func() error {
			err := db.Do(ctx, func(ctx context.Context) error { return errors.Join(update(1, "a")(ctx), failure) })
			if errors.Is(err, failure) {
				return nil
			}
			return err
		}, 0},
		{"a transaction whose only change is undone", func() error {
			return db.Do(ctx, undo)
		}, 0},
		{"a transaction that keeps another change than the one undone", func() error {
			return db.Do(ctx, func(ctx context.Context) error { return errors.Join(update(1, "a")(ctx), undo(ctx)) })
		}, 1},
	} {
		before := db.Counters().Writes
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := db.Counters().Writes - before; got != c.want {
			t.Errorf("%s: %d commits have changed rows, want %d", c.name, got, c.want)
		}
	}
}

// checkSyncs checks that servers report the number of their syncs to disk, and each commit adds at
// least one. SQLite does not report any.
func checkSyncs(t *testing.T, config database.Config) {
	ctx := context.Background()
	db := table(t, config)
	before, known, err := db.Syncs(ctx)
	if err != nil || known != (db.Driver() != database.SQLite) {
		t.Fatalf("syncs known %v, %v", known, err)
	}
	if !known {
		return
	}
	const commits = 5
	for n := range commits {
		if _, err := db.Exec(ctx, "UPDATE items SET amount = ?", 1000+n); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil { // PostgreSQL publishes the statistics of a session at its end
		t.Fatal(err)
	}
	again := databasetest.Open(t, config)
	var after int64
	for deadline := time.Now().Add(2 * time.Minute); after < before+commits &&
		time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if after, _, err = again.Syncs(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if after < before+commits {
		t.Errorf("%d syncs before %d commits and %d after", before, commits, after)
	}
}

func checkCancelled(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Do(ctx, func(ctx context.Context) error {
		if _, err := db.Exec(ctx, "UPDATE items SET amount = 0"); err != nil {
			return err
		}
		cancel()
		_, err := db.Exec(ctx, "UPDATE items SET amount = 1")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v", err)
	}
	if got := amount(t, context.Background(), db, "a"); got != 10 {
		t.Errorf("amount = %d", got)
	}
	if err := db.Do(ctx, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Do with a cancelled context = %v", err)
	}
}

// checkLateCommit ends the context of a transaction after its last statement. The pool rolls the transaction
// back before the commit; Do must return the end of the context, not an error of the database.
func checkLateCommit(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Do(ctx, func(ctx context.Context) error {
		if _, err := db.Exec(ctx, "UPDATE items SET amount = 0"); err != nil {
			return err
		}
		cancel()
		for { // until the transaction is gone
			if _, err := db.Exec(context.WithoutCancel(ctx), "UPDATE items SET amount = 1"); err != nil {
				return nil
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want the end of the context", err)
	}
	if got := amount(t, t.Context(), db, "a"); got != 10 {
		t.Errorf("amount = %d", got)
	}
}

// checkManyTexts runs more statements than a connection keeps prepared.
func checkManyTexts(t *testing.T, config database.Config) {
	config.Connections = 1
	db := table(t, config)
	for i := range 600 {
		if _, err := db.Exec(context.Background(),
			fmt.Sprintf("UPDATE items SET amount = amount + ? WHERE name = 'a' AND %d = %d", i, i), 1); err != nil {
			t.Fatal(err)
		}
		var got int64
		if _, err := db.One(context.Background(), []any{&got},
			fmt.Sprintf("SELECT amount FROM items WHERE name = ? AND %d = %d", i, i),
			"a"); err != nil || got != int64(11+i) {
			t.Fatalf("text %d: amount = %d, %v", i, got, err)
		}
	}
}

func TestValues(t *testing.T) {
	cases := []struct {
		rows, columns int
		want          string
	}{{1, 1, "(?)"}, {2, 3, "(?, ?, ?), (?, ?, ?)"}, {0, 2, ""}}
	for _, c := range cases {
		if got := database.Values(c.rows, c.columns); got != c.want {
			t.Errorf("Values(%d, %d) = %q, want %q", c.rows, c.columns, got, c.want)
		}
	}
}
