package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// maxAttempts is the maximum number of attempts of a transaction under contention.
	maxAttempts = 10
	// firstPause is the mean pause before the second attempt. The mean doubles with every attempt, up to
	// maxPause.
	firstPause = 2 * time.Millisecond
	maxPause   = 100 * time.Millisecond
)

// ErrDoomed means that a part of a transaction has failed and its caller ignored the
// error. Nothing was committed.
var ErrDoomed = errors.New("a part of the transaction has failed, so nothing was committed")

// transaction is the state of a running transaction. The context of its work carries it to nested calls.
type transaction struct {
	tx     executor
	doomed error    // the error of a failed part
	parts  int      // open savepoints, see Try
	writes bool     // a statement has changed rows
	after  []func() // functions that were passed to AfterCommit
}

// carried is the context key of the transaction of one database.
type carried struct{ db *DB }

// ambient returns the transaction that the context carries for this database, or nil.
func (db *DB) ambient(ctx context.Context) *transaction {
	current, _ := ctx.Value(carried{db}).(*transaction)
	return current
}

// InTransaction reports whether the context carries a transaction of this database.
func (db *DB) InTransaction(ctx context.Context) bool { return db.ambient(ctx) != nil }

// Do runs work in a transaction and commits it when work returns nil. If the context
// already carries a transaction of this database, work becomes a part of that transaction:
// it is committed with the whole or not at all, and if it fails, the whole fails.
//
// The outermost Do retries after contention (deadlock, serialisation failure); a nested one
// does not. So work must be repeatable: it changes nothing but the database, and resets its
// results at its begin. After an error for which IsUnavailable is true, or after the end of
// the context, the commit may or may not have happened.
func (db *DB) Do(ctx context.Context, work func(ctx context.Context) error) error {
	if current := db.ambient(ctx); current != nil {
		err := work(ctx)
		if err != nil && current.doomed == nil {
			current.doomed = err
		}
		return err
	}
	return db.retry(ctx, func() error { return db.attempt(ctx, db.writers, nil, work) })
}

// Snapshot runs work, which may only read, on a consistent snapshot of the database.
// Inside a transaction work runs in that transaction instead.
func (db *DB) Snapshot(ctx context.Context, work func(ctx context.Context) error) error {
	if db.ambient(ctx) != nil {
		return work(ctx)
	}
	options := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	if db.driver == SQLite {
		options.Isolation = sql.LevelDefault // a read transaction always sees one snapshot
	}
	return db.retry(ctx, func() error { return db.attempt(ctx, db.readers, options, work) })
}

// retry calls attempt again while it fails because of contention, at most maxAttempts times.
func (db *DB) retry(ctx context.Context, attempt func() error) error {
	for tried := 1; ; tried++ {
		err := attempt()
		if err == nil || !isContention(err) {
			return err
		}
		if tried == maxAttempts {
			return fmt.Errorf("gave up after %d attempts: %w", tried, err)
		}
		db.counters.retries.Add(1)
		if err := pause(ctx, tried); err != nil {
			return err
		}
	}
}

// pause waits a random time around an exponentially growing mean.
func pause(ctx context.Context, tried int) error {
	mean := min(firstPause<<(tried-1), maxPause)
	timer := time.NewTimer(mean/2 + rand.N(mean))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// attempt runs work once in a new transaction, commits it or rolls it back, and after a commit calls the
// functions that were passed to AfterCommit.
func (db *DB) attempt(
	ctx context.Context, on *sql.DB, options *sql.TxOptions, work func(ctx context.Context) error,
) error {
	watched, began := db.begin(ctx)
	tx, err := on.BeginTx(watched, options)
	if err := db.observe(watched, Statement{Kind: KindBegin, Text: "BEGIN", Err: err}, began); err != nil {
		return err
	}
	current := &transaction{tx: tx}
	defer func() {
		if current != nil { // work has panicked
			_ = tx.Rollback()
		}
	}()
	err = db.carryOut(ctx, current, work)
	after, writes := current.after, current.writes
	current = nil
	if err != nil {
		return db.rollback(ctx, tx, err)
	}
	if err := db.commit(ctx, tx); err != nil {
		return err
	}
	if writes {
		db.counters.writes.Add(1)
	}
	for _, call := range after {
		call()
	}
	return nil
}

// carryOut runs the work of a transaction. It returns an error if a part of the work has failed.
func (db *DB) carryOut(
	ctx context.Context, current *transaction, work func(ctx context.Context) error,
) error {
	if err := work(context.WithValue(ctx, carried{db}, current)); err != nil {
		return err
	}
	if current.doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, current.doomed)
	}
	return nil
}

// AfterCommit calls a function after the commit of the transaction that the context
// carries. The outermost Do calls the function before it returns, in the goroutine of its
// caller. Without a transaction AfterCommit calls the function at once. The function is not
// called if the transaction was not committed, if its outcome is unknown, or if it is a
// transaction of Prepare, which another program may commit.
func (db *DB) AfterCommit(ctx context.Context, call func()) {
	if current := db.ambient(ctx); current != nil {
		current.after = append(current.after, call)
		return
	}
	call()
}

// commit commits a transaction. It does not count a commit whose outcome is unknown; see Do. After contention
// it is known: the database has rolled the transaction back.
func (db *DB) commit(ctx context.Context, tx *sql.Tx) error {
	ctx, began := db.begin(ctx)
	err := db.observe(ctx, Statement{Kind: KindCommit, Text: "COMMIT", Err: tx.Commit()}, began)
	switch {
	case err == nil:
		db.counters.commits.Add(1)
	case isContention(err), ctx.Err() == nil && !IsUnavailable(err):
		db.counters.rollbacks.Add(1)
	}
	return err
}

// rollback rolls a transaction back and returns cause. It ignores an error of the rollback itself:
// if the connection is lost, the database rolls the transaction back.
func (db *DB) rollback(ctx context.Context, tx *sql.Tx, cause error) error {
	ctx, began := db.begin(ctx)
	err := tx.Rollback()
	db.counters.rollbacks.Add(1)
	if errors.Is(err, sql.ErrTxDone) {
		err = nil
	}
	_ = db.observe(ctx, Statement{Kind: KindRollback, Text: "ROLLBACK", Err: err}, began)
	return withContextError(ctx, cause)
}
