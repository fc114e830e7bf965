package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Pool is a DB for a library that writes its own statements, as an ORM does, in the SQL dialect of the
// database. They run in the transaction that the context carries, and are counted, observed and traced like
// all others. Pool has the methods of database/sql that such libraries need, except those that begin
// transactions: only Do begins them.
type Pool struct{ db *DB }

// Pool returns the database for a library that writes its own statements.
func (db *DB) Pool() Pool { return Pool{db} }

// ExecContext runs a statement that changes rows.
func (p Pool) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	changed, err := p.db.exec(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(changed), nil
}

// QueryContext runs a query. The caller must then call Read with the number of rows that it has read, and
// with the error of reading, if any.
func (p Pool) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	ctx, began := p.db.begin(ctx)
	rows, err := p.db.executor(ctx, p.db.readers).QueryContext(ctx, text, args...)
	p.db.counters.statements.Add(1)
	return rows, p.db.observe(ctx, Statement{Kind: KindQuery, Text: text, Args: args, Err: err}, began)
}

// QueryRowContext runs a query for one row. The caller must then call Read, as after QueryContext.
func (p Pool) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	ctx, began := p.db.begin(ctx)
	row := p.db.executor(ctx, p.db.readers).QueryRowContext(ctx, text, args...)
	p.db.counters.statements.Add(1)
	_ = p.db.observe(ctx, Statement{Kind: KindQuery, Text: text, Args: args, Err: row.Err()}, began)
	return row
}

// PrepareContext always fails: connections keep prepared statements themselves.
func (p Pool) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, fmt.Errorf("prepare a statement of %s: connections do that: %w", p.db.driver,
		errors.ErrUnsupported)
}

// Read counts the rows that the caller has read from a query. It returns err, which may be nil, as an error
// of this package.
func (p Pool) Read(text string, rows int64, err error) error {
	p.db.counters.rowsRead.Add(rows)
	return p.db.asError(text, err)
}
