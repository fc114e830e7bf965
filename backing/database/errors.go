package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// failure is the class of an error, independent of the database.
type failure int

const (
	other       failure = iota
	contention          // a conflict with another transaction: a retry may succeed
	unavailable         // no answer, or no work is accepted for now
)

// Error is a failed statement.
type Error struct {
	Driver    Driver
	Statement string // without the values; empty if there was none
	Err       error
	kind      failure
}

// Error implements error.
func (e *Error) Error() string {
	if e.Statement == "" {
		return fmt.Sprintf("%s: %v", e.Driver, e.Err)
	}
	text := strings.Join(strings.Fields(e.Statement), " ")
	return fmt.Sprintf("%s: %v (in %.120s)", e.Driver, e.Err, text)
}

// Unwrap returns the driver's error.
func (e *Error) Unwrap() error { return e.Err }

// Unavailable reports whether the database did not answer, refuses all work for now, because it has no free
// connections, is starting or its disk is full, or could not execute this statement because of other
// transactions. The statement may have been executed nevertheless.
func (e *Error) Unavailable() bool { return e.kind == unavailable || e.kind == contention }

// IsUnavailable reports whether err is an Error with Unavailable.
func IsUnavailable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unavailable()
}

// Contended returns an error for work in a transaction that has noticed a conflict with other
// transactions from the number of changed rows. Do then retries, as after a deadlock.
func (db *DB) Contended(message string) error {
	return &Error{Driver: db.driver, Err: errors.New(message), kind: contention}
}

// isContention reports whether err is an Error because of other transactions.
func isContention(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.kind == contention
}

// asError converts an error of a driver to an Error. It returns nil, an Error and the end of
// a context unchanged.
func (db *DB) asError(statement string, err error) error {
	var ours *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	kind := db.classify(err)
	if kind == other && isOfConnection(err) {
		kind = unavailable
	}
	return &Error{Driver: db.driver, Statement: statement, Err: err, kind: kind}
}

// isOfConnection reports whether an error means that the connection to a database failed.
func isOfConnection(err error) bool {
	known := []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF}
	_, isOfNetwork := errors.AsType[net.Error](err)
	return isOfNetwork || slices.ContainsFunc(known, func(one error) bool { return errors.Is(err, one) })
}

// classifyMariaDB follows the list of error codes in the server's documentation.
func classifyMariaDB(err error) failure {
	var coded *mysql.MySQLError
	if !errors.As(err, &coded) {
		if errors.Is(err, mysql.ErrInvalidConn) {
			return unavailable
		}
		return other
	}
	switch coded.Number {
	case 1205, 1213, 1020: // lock wait timeout, deadlock, record has changed
		return contention
	// too many connections (of all, of a user), out of memory, disk full, table full, shutdown, killed
	case 1040, 1203, 1041, 1021, 1114, 1053, 1927:
		return unavailable
	}
	return other
}

// classifyPostgreSQL follows appendix A of the documentation.
func classifyPostgreSQL(err error) failure {
	var coded *pgconn.PgError
	if !errors.As(err, &coded) {
		if _, is := errors.AsType[*pgconn.ConnectError](err); is || pgconn.SafeToRetry(err) {
			return unavailable
		}
		return other
	}
	switch code := coded.Code; {
	case code == "40001", code == "40P01", code == "55P03": // serialisation, deadlock, lock not available
		return contention
	// the classes of connections, resources and shutdown
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P"):
		return unavailable
	}
	return other
}

// classifySQLite follows https://www.sqlite.org/rescode.html; extended codes hold the primary one in
// their low byte.
func classifySQLite(err error) failure {
	var coded *sqlite.Error
	if !errors.As(err, &coded) {
		return other
	}
	const busy, locked, full, ioError, cannotOpen = 5, 6, 13, 10, 14
	switch coded.Code() & 0xff {
	case busy, locked:
		return contention
	case full, ioError, cannotOpen:
		return unavailable
	}
	return other
}
