package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// maxPrepared is the number of statements that a connection keeps prepared. Programs
// usually have a fixed set of texts; the limit protects against those that build texts.
const maxPrepared = 500

// cachingConnector opens connections that cache their prepared statements. A sql.Stmt
// needs a free connection of the pool to prepare itself, which blocks if all are in
// transactions; a cache in the connection never does.
type cachingConnector struct {
	driver.Connector
	// unwatched means that a running statement is not cancelled when its context ends (see sqlitePool).
	unwatched bool
}

// Connect implements driver.Connector.
func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	gotConnection(ctx)
	capable, ok := inner.(connection)
	if !ok {
		return nil, errors.Join(fmt.Errorf("driver connection %T lacks methods that this package needs", inner),
			inner.Close())
	}
	return &cachingConn{connection: capable, unwatched: c.unwatched, prepared: map[string]statement{}}, nil
}

// connection lists the interfaces that the connections of all drivers implement.
type connection interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statement lists the interfaces that the prepared statements of all drivers implement.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is one connection with its prepared statements by text. database/sql
// uses a connection from one goroutine at a time.
type cachingConn struct {
	connection
	unwatched bool
	prepared  map[string]statement
}

// ResetSession implements driver.SessionResetter. The pool calls it before it reuses the
// connection.
func (c *cachingConn) ResetSession(ctx context.Context) error {
	gotConnection(ctx)
	return c.connection.ResetSession(ctx)
}

// CheckNamedValue implements driver.NamedValueChecker with the driver's checker, if any.
func (c *cachingConn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, ok := c.connection.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

// ExecContext implements driver.ExecerContext.
func (c *cachingConn) ExecContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Result, error) {
	ctx, err := c.watch(ctx)
	if err != nil {
		return nil, err
	}
	prepared, keep, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := prepared.ExecContext(ctx, args)
	if !keep {
		return result, errors.Join(err, prepared.Close())
	}
	return result, err
}

// QueryContext implements driver.QueryerContext. A statement beyond maxPrepared is
// left to database/sql, which closes it after its rows.
func (c *cachingConn) QueryContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Rows, error) {
	if _, ok := c.prepared[text]; !ok && len(c.prepared) >= maxPrepared {
		return nil, driver.ErrSkip
	}
	ctx, err := c.watch(ctx)
	if err != nil {
		return nil, err
	}
	prepared, _, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args)
}

// prepare returns the statement of a text, and whether the connection keeps it; if not,
// the caller must close it.
func (c *cachingConn) prepare(ctx context.Context, text string) (statement, bool, error) {
	if kept, ok := c.prepared[text]; ok {
		return kept, true, nil
	}
	inner, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, false, err
	}
	prepared, ok := inner.(statement)
	if !ok {
		return nil, false, errors.Join(fmt.Errorf("driver statement %T lacks methods that this package needs",
			inner), inner.Close())
	}
	if len(c.prepared) >= maxPrepared {
		return prepared, false, nil
	}
	c.prepared[text] = prepared
	return prepared, true, nil
}

// watch returns the context to run a statement with: ctx, or one that never ends if the
// connection is unwatched. It fails if ctx has ended already.
func (c *cachingConn) watch(ctx context.Context) (context.Context, error) {
	if !c.unwatched {
		return ctx, nil
	}
	return context.Background(), ctx.Err()
}

// Close implements driver.Conn.
func (c *cachingConn) Close() error {
	var failures []error
	for _, prepared := range c.prepared {
		failures = append(failures, prepared.Close())
	}
	clear(c.prepared)
	err := errors.Join(append(failures, c.connection.Close())...)
	if _, is := errors.AsType[*sqlite.Error](err); is {
		return err
	}
	return nil // a server drops the connection anyway; a message to one that was restarted fails
}
