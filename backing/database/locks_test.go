package database_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
)

// checkDeadlock locks two rows in both orders; the databases notice, and both
// transactions succeed in the end.
func checkDeadlock(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	var first sync.WaitGroup // both have locked their first row; not for SQLite, with one writer at a time
	first.Add(2)
	together(t, 2, func(i int) error {
		names := []string{"a", "b"}
		waited := false // only the first attempt waits
		return db.Do(ctx, func(ctx context.Context) error {
			for n := range names {
				if _, err := db.Exec(ctx, "UPDATE items SET amount = amount + 1 WHERE name = ?",
					names[(n+i)%2]); err != nil {
					return err
				}
				if n == 0 && !waited && db.Driver() != database.SQLite {
					waited = true
					first.Done()
					first.Wait()
				}
			}
			return nil
		})
	})
	if a, b := amount(t, ctx, db, "a"), amount(t, ctx, db, "b"); a != 12 || b != 12 {
		t.Errorf("a = %d, b = %d, want 12", a, b)
	}
	if retries := db.Counters().Retries; retries == 0 && db.Driver() != database.SQLite {
		t.Error("there was no deadlock: the test proves nothing")
	}
}

// checkDeadlockAlone runs a single statement outside of Do that locks rows which a transaction
// wants. The transaction has changed more rows, which counts in MariaDB, and starts to wait later,
// which counts in PostgreSQL: so the database ends the statement, which must be retried. In PostgreSQL
// each waiter checks for deadlocks once, after a second: on a slow host it can be the
// transaction that finds one, and that attempt of the test proves nothing.
//
// The statement can be ended more than once: a row that it releases is free until the
// transaction wakes up, and the statement's next attempt may lock it first. So there must
// be one retry per deadlock, whatever their number.
func checkDeadlockAlone(t *testing.T, config database.Config) {
	if config.Driver == database.SQLite {
		t.Skip("SQLite has one writer at a time: there are no deadlocks")
	}
	var deadlocks deadlocks
	config.Observer = &deadlocks
	db := table(t, config)
	run(t, db, "INSERT INTO items (name, amount) VALUES "+database.Values(2, 2), "d", 10, "e", 10)
	for range 5 {
		run(t, db, "UPDATE items SET amount = 10")
		if deadlockAlone(t, db, &deadlocks) {
			return
		}
	}
	t.Error("the transaction gave way five times, want the statement to")
}

// deadlockAlone reports whether the database ended the statement, not the transaction.
func deadlockAlone(t *testing.T, db *database.DB, deadlocks *deadlocks) bool {
	ctx := context.Background()
	retries := db.Counters().Retries
	failed := deadlocks.seen.Load()
	var alone []chan error // results of the statement, one per attempt of the transaction
	err := db.Do(ctx, func(inside context.Context) error {
		if _, err := db.Exec(inside,
			"UPDATE items SET amount = amount + 1 WHERE name IN ('b', 'c', 'd', 'e')"); err != nil {
			return err
		}
		ended := make(chan error, 1)
		alone = append(alone, ended)
		go func() {
			changed, err := db.Exec(ctx, "UPDATE items SET amount = amount + 1 WHERE "+
				db.InKeyOrder("items", "name", 2), "a", "b")
			if err == nil && changed != 2 {
				err = fmt.Errorf("%d rows changed, want 2", changed)
			}
			ended <- err
		}()
		awaitLockWait(t, db)
		_, err := db.Exec(inside, "UPDATE items SET amount = amount + 1 WHERE name = 'a'")
		return err
	})
	for _, ended := range alone {
		err = errors.Join(err, <-ended)
	}
	must(t, err)
	if len(alone) > 1 {
		return false
	}
	if a, b := amount(t, ctx, db, "a"), amount(t, ctx, db, "b"); a != 12 || b != 12 {
		t.Errorf("a = %d, b = %d, want 12", a, b)
	}
	retries = db.Counters().Retries - retries
	failed = deadlocks.seen.Load() - failed
	if retries != failed || failed == 0 {
		t.Errorf("%d retries, want one for each of the %d deadlocks", retries, failed)
	}
	return true
}

// deadlocks is an Observer that counts failed statements.
type deadlocks struct{ seen atomic.Int64 }

func (d *deadlocks) Observe(_ context.Context, s database.Statement) {
	if s.Err != nil {
		d.seen.Add(1)
	}
}

// checkKeyOrder locks the row with the lowest key while a statement wants all rows: the
// statement must wait without having locked the others, independent of the order of the
// rows in the table and of its arguments.
func checkKeyOrder(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	run(t, db, "UPDATE items SET amount = amount + 1 WHERE name = 'a'") // moves it to the end in PostgreSQL
	if db.Driver() == database.PostgreSQL {
		run(t, db, "ANALYZE items") // so that the planner reads the whole table in its order
	}
	all := "UPDATE items SET amount = amount + 1 WHERE " + db.InKeyOrder("items", "name", 3)
	second := make(chan error, 1)
	err := db.Do(ctx, func(inside context.Context) error {
		if _, err := db.Exec(inside, "UPDATE items SET amount = amount + 1 WHERE name = 'a'"); err != nil {
			return err
		}
		go func() {
			changed, err := db.Exec(ctx, all, "c", "b", "a")
			if err == nil && changed != 3 {
				err = fmt.Errorf("%d rows changed, want 3", changed)
			}
			second <- err
		}()
		awaitLockWait(t, db)
		_, err := db.Exec(inside, "UPDATE items SET amount = amount + 1 WHERE name = 'b'")
		return err
	})
	must(t, errors.Join(err, <-second))
	if a, b := amount(t, ctx, db, "a"), amount(t, ctx, db, "b"); a != 13 || b != 12 {
		t.Errorf("a = %d, b = %d, want 13 and 12", a, b)
	}
	if retries := db.Counters().Retries; retries != 0 {
		t.Errorf("%d deadlocks", retries)
	}
}

// awaitLockWait waits until a session waits for a row lock. For SQLite, which has none, it
// returns at once.
func awaitLockWait(t *testing.T, db *database.DB) {
	t.Helper()
	waiting := map[database.Driver]string{
		database.MariaDB: "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
		database.PostgreSQL: "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND " +
			"wait_event_type = 'Lock'",
	}[db.Driver()]
	for count := int64(0); waiting != "" && count == 0; {
		if _, err := db.One(context.Background(), []any{&count}, waiting); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pollInterval)
	}
}

// pollInterval is the pause between checks. MariaDB caches its answer for a tenth of a
// second, and each query within that time keeps the old answer for as long again.
const pollInterval = 150 * time.Millisecond

// together runs work n times at once and waits for all.
func together(t *testing.T, n int, work func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := work(i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
