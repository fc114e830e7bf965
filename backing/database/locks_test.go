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
	var first sync.WaitGroup // both have their first row; SQLite has no two at once
	first.Add(2)
	together(t, 2, func(i int) error {
		names := []string{"a", "b"}
		met := false
		return db.Do(ctx, func(ctx context.Context) error {
			for n := range names {
				if _, err := db.Exec(ctx, "UPDATE items SET amount = amount + 1 WHERE name = ?",
					names[(n+i)%2]); err != nil {
					return err
				}
				if n == 0 && !met && db.Driver() != database.SQLite {
					met = true
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

// checkDeadlockAlone has one statement outside of Do lock the rows that a transaction
// wants. The transaction has changed more, and waits later: the statement gives way.
// PostgreSQL has whoever has waited for a second look for a deadlock, once: on a host
// on which the transaction comes later than that, it is the one, and nothing is learnt.
//
// The statement may have to give way more than once: a row that it lets go of is free
// until the transaction, which waits for it, is awake, and the statement's next attempt
// may be quicker. So every deadlock must have been met with one retry, be they one or two.
func checkDeadlockAlone(t *testing.T, config database.Config) {
	if config.Driver == database.SQLite {
		t.Skip("SQLite has one writer at a time: nobody waits with a lock in his hand")
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

// deadlockAlone reports whether the statement, and not the transaction, gave way.
func deadlockAlone(t *testing.T, db *database.DB, deadlocks *deadlocks) bool {
	ctx := context.Background()
	retries, refused := db.Counters().Retries, deadlocks.seen.Load()
	var alone []chan error // of every time that the transaction begins
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
	retries, refused = db.Counters().Retries-retries, deadlocks.seen.Load()-refused
	if retries != refused || refused == 0 {
		t.Errorf("%d retries, want one for each of the %d deadlocks", retries, refused)
	}
	return true
}

// deadlocks counts the statements that a server has ended for one.
type deadlocks struct{ seen atomic.Int64 }

func (d *deadlocks) Observe(_ context.Context, s database.Statement) {
	if s.Err != nil {
		d.seen.Add(1)
	}
}

// checkKeyOrder holds the first row by key while another transaction wants all of
// them: it must wait without holding the others, in whatever order they lie in the
// table or are named.
func checkKeyOrder(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	run(t, db, "UPDATE items SET amount = amount + 1 WHERE name = 'a'") // PostgreSQL now has it last
	if db.Driver() == database.PostgreSQL {
		run(t, db, "ANALYZE items") // and knows that reading the whole table is cheapest
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

// awaitLockWait returns when somebody waits for a row. SQLite has no such thing:
// its second writer waits for the first one's end.
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
		time.Sleep(lookAgain)
	}
}

// lookAgain: MariaDB shows a state up to a tenth of a second old, and for ever the
// same to who asks more often.
const lookAgain = 150 * time.Millisecond

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
