package database

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// StatementKind says what a Statement is.
type StatementKind string

// The kinds of statements.
const (
	KindBegin    StatementKind = "begin"
	KindExec     StatementKind = "exec"
	KindQuery    StatementKind = "query"
	KindCommit   StatementKind = "commit"
	KindRollback StatementKind = "rollback"
)

// Statement is one round trip to the database.
type Statement struct {
	Kind  StatementKind
	Text  string // as the database got it
	Args  []any
	Rows  int64 // changed (exec) or read (query)
	Began time.Time
	Took  time.Duration
	Err   error
}

// Observer is told of every statement after it, in the goroutine that ran it. It
// must be quick and keep nothing of Args but copies.
type Observer interface {
	Observe(ctx context.Context, statement Statement)
}

// observe tells the trace and the observer and returns the error as this package's.
func (db *DB) observe(ctx context.Context, statement Statement, began begun) error {
	db.note(ctx, statement, began)
	if db.observer != nil {
		statement.Began, statement.Took = began.at, time.Since(began.at)
		db.observer.Observe(ctx, statement)
	}
	return ended(ctx, db.failed(statement.Text, statement.Err))
}

// ended returns an error as the end of the context, too, if that has ended: database/sql then takes the
// transaction away, and what the next statement or the commit says of that does not tell why.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(err, ctx.Err())
}

// Counters hold what a DB has done since it was opened.
type Counters struct {
	Statements  int64 `json:"statements"` // beside BEGIN, COMMIT and ROLLBACK
	RowsRead    int64 `json:"rows_read"`
	RowsChanged int64 `json:"rows_changed"`
	Commits     int64 `json:"commits"`   // of transactions; single statements commit by themselves
	Writes      int64 `json:"writes"`    // commits that changed rows, single statements among them
	Rollbacks   int64 `json:"rollbacks"` // of transactions
	Retries     int64 `json:"retries"`   // of transactions that others got in the way of
}

type counters struct {
	statements, rowsRead, rowsChanged, commits, writes, rollbacks, retries atomic.Int64
}

// changed counts rows that a statement has changed, for its transaction where it
// is in one.
func (db *DB) changed(ctx context.Context, rows int64) {
	if rows <= 0 {
		return
	}
	db.counters.rowsChanged.Add(rows)
	if current := db.ambient(ctx); current != nil {
		current.writes = true
		return
	}
	db.counters.writes.Add(1)
}

// Counters reads the counters.
func (db *DB) Counters() Counters {
	c := &db.counters
	return Counters{
		Statements: c.statements.Load(), RowsRead: c.rowsRead.Load(), RowsChanged: c.rowsChanged.Load(),
		Commits: c.commits.Load(), Writes: c.writes.Load(), Rollbacks: c.rollbacks.Load(),
		Retries: c.retries.Load(),
	}
}
