package database

import (
	"context"
	"errors"
	"sync/atomic"
)

// StatementKind is the kind of a Statement.
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
	Kind StatementKind
	Text string // as sent to the database
	Args []any
	Rows int64 // changed (exec) or read (query)
	Err  error
}

// Observer gets every statement after it has run, in the same goroutine. It must be
// quick and may keep Args only as copies.
type Observer interface {
	Observe(ctx context.Context, statement Statement)
}

// observe reports a statement to the trace and the observer. It returns the statement's
// error as an error of this package.
func (db *DB) observe(ctx context.Context, statement Statement, began start) error {
	db.recordSpans(ctx, statement, began)
	if db.observer != nil {
		db.observer.Observe(ctx, statement)
	}
	return withContextError(ctx, db.asError(statement.Text, statement.Err))
}

// withContextError adds the error of the context to err if the context has ended: database/sql then rolls the
// transaction back, and the error of the next statement or of the commit does not name the cause.
func withContextError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(err, ctx.Err())
}

// Counters counts the work of a DB since it was opened.
type Counters struct {
	Statements  int64 `json:"statements"` // without BEGIN, COMMIT and ROLLBACK
	RowsRead    int64 `json:"rows_read"`
	RowsChanged int64 `json:"rows_changed"`
	Commits     int64 `json:"commits"`   // of transactions; single statements commit by themselves
	Writes      int64 `json:"writes"`    // commits that changed rows, including single statements
	Rollbacks   int64 `json:"rollbacks"` // of transactions, without commits whose outcome is unknown
	Retries     int64 `json:"retries"`   // of transactions, after contention
}

// counters holds the counts behind Counters.
type counters struct {
	statements, rowsRead, rowsChanged, commits, writes, rollbacks, retries atomic.Int64
}

// countChanged counts the rows that a statement has changed. In a transaction it marks the
// transaction as writing; otherwise it counts the statement's own commit.
func (db *DB) countChanged(ctx context.Context, rows int64) {
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

// Counters returns the counts so far.
func (db *DB) Counters() Counters {
	c := &db.counters
	return Counters{
		Statements: c.statements.Load(), RowsRead: c.rowsRead.Load(), RowsChanged: c.rowsChanged.Load(),
		Commits: c.commits.Load(), Writes: c.writes.Load(), Rollbacks: c.rollbacks.Load(),
		Retries: c.retries.Load(),
	}
}
