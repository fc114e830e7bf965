package database

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// DB is a database. Its methods may be called from several goroutines; within
// one transaction, from one at a time.
type DB struct {
	driver   Driver
	classify func(error) failure // returns the class of a driver's error
	writers  *sql.DB
	readers  *sql.DB // the same as writers, except SQLite's
	observer Observer
	counters counters
	rebound  sync.Map // cache of rebind: the statement with $1 by the statement with ?
	name     string   // the name of the database; only set in MariaDB
	// preparers is the pool of Prepare; nil in SQLite. It is separate, because a Prepare that waits for a lock
	// must not keep the connection that End needs to release the lock, and because in MariaDB prepared
	// transactions keep their connections. held holds these, as *sql.Conn by the name of the transaction.
	preparers *sql.DB
	held      sync.Map
}

// Driver returns the kind of the database.
func (db *DB) Driver() Driver { return db.driver }

// Close closes all connections.
func (db *DB) Close() error {
	db.releaseHeld()
	err := db.writers.Close()
	if db.preparers != nil {
		err = errors.Join(err, db.preparers.Close())
	}
	if db.readers != db.writers {
		err = errors.Join(err, db.readers.Close())
	}
	return err
}

// Ping returns an error if the database does not answer.
func (db *DB) Ping(ctx context.Context) error {
	return db.asError("", db.writers.PingContext(ctx))
}

// Row is a row to be scanned.
type Row interface {
	// Scan copies the columns into the destinations.
	Scan(destinations ...any) error
}

// Exec runs a statement and returns the number of rows that it has changed. MariaDB does
// not count rows that already have the new values: so updates should always change the
// rows that they match. Outside of Do, a statement is a transaction of its own, and is
// retried if it is rolled back because of contention.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	query = db.rebind(query)
	if db.InTransaction(ctx) {
		return db.exec(ctx, query, args)
	}
	err = db.retry(ctx, func() (err error) {
		changed, err = db.exec(ctx, query, args)
		return err
	})
	return changed, err
}

// exec runs a statement, in the SQL dialect of the database, once.
func (db *DB) exec(ctx context.Context, query string, args []any) (int64, error) {
	ctx, began := db.begin(ctx)
	result, err := db.executor(ctx, db.writers).ExecContext(ctx, query, args...)
	var changed int64
	if err == nil {
		changed, err = result.RowsAffected()
	}
	db.counters.statements.Add(1)
	db.countChanged(ctx, changed)
	return changed, db.observe(ctx, Statement{Kind: KindExec, Text: query, Args: args, Rows: changed, Err: err},
		began)
}

// One runs a query and copies its only row, or the first, into the destinations.
// It reports whether there was one.
func (db *DB) One(ctx context.Context, destinations []any, query string, args ...any) (bool, error) {
	found := false
	err := db.each(ctx, query, args, func(row Row) (bool, error) {
		found = true
		return false, row.Scan(destinations...)
	})
	return found, err
}

// Each runs a query and calls scan for every row. scan must not run statements in the same
// transaction.
func (db *DB) Each(ctx context.Context, scan func(Row) error, query string, args ...any) error {
	return db.each(ctx, query, args, func(row Row) (bool, error) { return true, scan(row) })
}

// each runs a query and calls scan for each row while it returns true.
func (db *DB) each(ctx context.Context, query string, args []any, scan func(Row) (bool, error)) error {
	query = db.rebind(query)
	ctx, began := db.begin(ctx)
	count, err := readRows(ctx, db.executor(ctx, db.readers), query, args, scan)
	db.counters.statements.Add(1)
	db.counters.rowsRead.Add(count)
	return db.observe(ctx, Statement{Kind: KindQuery, Text: query, Args: args, Rows: count, Err: err}, began)
}

// readRows runs a query and calls scan for each row while it returns true. It returns the number of rows
// read.
func readRows(
	ctx context.Context, on executor, query string, args []any, scan func(Row) (bool, error),
) (count int64, err error) {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		count++
		more, err := scan(rows)
		if err != nil || !more {
			return count, err
		}
	}
	return count, rows.Err()
}

// executor runs statements: a pool or a transaction.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// executor returns the transaction that the context carries, or else pool.
func (db *DB) executor(ctx context.Context, pool *sql.DB) executor {
	if current := db.ambient(ctx); current != nil {
		return current.tx
	}
	return pool
}

// rebind replaces question marks by $1, $2 ... for PostgreSQL. Statements are few and fixed, so
// it keeps the results. No statement has a question mark in a literal.
func (db *DB) rebind(query string) string {
	if db.driver != PostgreSQL {
		return query
	}
	if kept, ok := db.rebound.Load(query); ok {
		return kept.(string)
	}
	var text strings.Builder
	for n, part := range strings.Split(query, "?") {
		if n > 0 {
			text.WriteString("$" + strconv.Itoa(n))
		}
		text.WriteString(part)
	}
	db.rebound.Store(query, text.String())
	return text.String()
}

// KeepExisting returns the end of an INSERT that leaves rows alone whose key exists
// already; Exec then counts the new rows only. column is any column of the table.
func (db *DB) KeepExisting(column string) string {
	if db.driver == MariaDB {
		// INSERT IGNORE would hide other mistakes as well.
		return " ON DUPLICATE KEY UPDATE " + column + " = " + column
	}
	return " ON CONFLICT DO NOTHING"
}

// ForUpdate returns the end of a SELECT that returns its rows in the order of the key and locks them in that
// order: other transactions cannot change them until this one ends. SQLite has one writer at a time instead.
func (db *DB) ForUpdate(key string) string {
	if db.driver == SQLite {
		return " ORDER BY " + key
	}
	return " ORDER BY " + key + " FOR UPDATE"
}

// InKeyOrder returns a condition for an UPDATE: the key is one of this many values, and
// the rows are locked in the order of the key. So transactions that update several rows of
// a table with such conditions do not deadlock.
func (db *DB) InKeyOrder(table, key string, values int) string {
	in := key + " IN (" + Placeholders(values) + ")"
	if db.driver != PostgreSQL {
		return in // SQLite has one writer; MariaDB follows the primary key
	}
	// PostgreSQL updates rows in the order of their place in the table. The subquery locks
	// them before that, in the order of the key, in the same round trip.
	return key + " = ANY (ARRAY(SELECT " + key + " FROM " + table + " WHERE " + in + " ORDER BY " + key +
		" FOR UPDATE))"
}
