package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// lockWaitSeconds is the time that a transaction in Prepare waits for a lock. It is short because a prepared
	// transaction keeps its locks for as long as its coordinator is down.
	lockWaitSeconds = 1
	// preparing is the statement of PostgreSQL that prepares a transaction.
	preparing = "PREPARE TRANSACTION"
	// undoWithin bounds the rollback of a transaction that Prepare could not prepare.
	undoWithin = 5 * time.Second
)

// preparable matches the names that all databases accept for prepared transactions.
var preparable = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckPrepare returns an error with the remedy if the server's configuration does not allow prepared
// transactions, which is PostgreSQL's default.
func (db *DB) CheckPrepare(ctx context.Context) error {
	if db.driver != PostgreSQL {
		return nil
	}
	var limit int64
	_, err := db.One(ctx, []any{&limit}, "SELECT current_setting('max_prepared_transactions')::int")
	if err == nil && limit == 0 {
		err = errors.New("PostgreSQL prepares no transactions: set max_prepared_transactions in its " +
			"configuration, at least as high as max_connections, and restart it")
	}
	return err
}

// Prepare runs work in a transaction of its own, as Do does, and prepares it under a name that must be unique
// on the server. The prepared transaction is durable and keeps its locks until End commits it or rolls it
// back, even if this program or the server ends meanwhile. After an error it may or may not be prepared; see
// Prepared. Functions that work passes to AfterCommit are not called.
//
// In MariaDB a prepared transaction belongs to its connection while that is open: the DB keeps the connection
// out of the pool until End, which must be called on the same DB, or after it is closed.
func (db *DB) Prepare(ctx context.Context, name string, work func(ctx context.Context) error) error {
	if db.driver == SQLite {
		return fmt.Errorf("prepare a transaction of %s: %w", db.driver, errors.ErrUnsupported)
	}
	if !preparable.MatchString(name) {
		return fmt.Errorf("prepare transaction %q: its name has up to 64 letters, digits, dots, dashes and "+
			"underscores", name)
	}
	return db.retry(ctx, func() error {
		conn, err := db.conn(ctx, db.preparers)
		if err != nil {
			return err
		}
		return db.prepareOn(ctx, conn, name, work)
	})
}

// conn takes a connection from a pool and records the wait for it.
func (db *DB) conn(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	ctx, began := db.begin(ctx)
	conn, err := pool.Conn(ctx)
	if began.traced != nil {
		recordWait(ctx, began)
	}
	return conn, db.asError("", err)
}

// prepareOn is one attempt of Prepare, on a connection that it returns to the pool, holds or closes.
func (db *DB) prepareOn(
	ctx context.Context, conn *sql.Conn, name string, work func(ctx context.Context) error,
) error {
	if err := db.execPlain(ctx, conn, KindBegin, db.beginStatements(name)...); err != nil {
		spoil(conn) // undo could roll back an earlier transaction: in MariaDB the name of a prepared one is taken
		return err
	}
	current := &transaction{tx: conn}
	finished := false
	defer func() {
		if !finished { // work has failed or panicked, or the transaction cannot be prepared
			db.undo(ctx, conn, name)
		}
	}()
	if err := db.carryOut(ctx, current, work); err != nil {
		return err
	}
	if err := db.execPlain(ctx, conn, KindExec, db.prepareStatements(name)...); err != nil {
		return err
	}
	finished = true
	if current.writes {
		db.counters.writes.Add(1)
	}
	if db.driver == PostgreSQL {
		return conn.Close() // back to the pool
	}
	db.held.Store(name, conn)
	return nil
}

// undo rolls back a transaction that prepareOn could not fill or prepare. If that fails, it closes the
// connection, which rolls back a transaction that is not prepared.
func (db *DB) undo(ctx context.Context, conn *sql.Conn, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	texts := []string{"ROLLBACK"}
	if db.driver == MariaDB {
		// After a deadlock XA END returns an error, but ends the transaction nevertheless.
		_ = db.execPlain(ctx, conn, KindExec, "XA END "+db.xid(name))
		texts = []string{"XA ROLLBACK " + db.xid(name)}
	}
	db.counters.rollbacks.Add(1)
	if err := db.execPlain(ctx, conn, KindRollback, texts...); err != nil {
		spoil(conn)
		return
	}
	_ = conn.Close() // back to the pool
}

// spoil closes a connection instead of returning it to the pool.
func spoil(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // makes database/sql discard the connection
}

// xid returns the name of a transaction of this database as MariaDB writes it, with the database as
// qualifier.
func (db *DB) xid(name string) string { return "'" + name + "','" + db.name + "'" }

// beginStatements returns the statements that begin a transaction which will be prepared, with a short time
// for waiting for locks. In MariaDB the connection keeps that time: only Prepare uses the pool of preparers.
func (db *DB) beginStatements(name string) []string {
	if db.driver == PostgreSQL {
		return []string{"BEGIN; SET LOCAL lock_timeout = '" + strconv.Itoa(lockWaitSeconds) + "s'"}
	}
	return []string{"SET SESSION innodb_lock_wait_timeout = " + strconv.Itoa(lockWaitSeconds),
		"XA START " + db.xid(name)}
}

// prepareStatements returns the statements that prepare the transaction of a connection.
func (db *DB) prepareStatements(name string) []string {
	if db.driver == PostgreSQL {
		return []string{preparing + " '" + name + "'"}
	}
	return []string{"XA END " + db.xid(name), "XA PREPARE " + db.xid(name)}
}

// endStatement returns the statement that ends a prepared transaction.
func (db *DB) endStatement(name string, commit bool) string {
	verb := "ROLLBACK"
	if commit {
		verb = "COMMIT"
	}
	if db.driver == PostgreSQL {
		return verb + " PREPARED '" + name + "'"
	}
	return "XA " + verb + " " + db.xid(name)
}

// execPlain runs statements on a connection as plain text, not as prepared statements, because the text of
// each is used only once.
func (db *DB) execPlain(ctx context.Context, conn *sql.Conn, kind StatementKind, texts ...string) error {
	for _, text := range texts {
		watched, began := db.begin(ctx)
		err := conn.Raw(func(driverConn any) error {
			switch c := driverConn.(type) {
			case *stdlib.Conn:
				tag, err := c.Conn().Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
				prepares := strings.HasPrefix(text, preparing)
				if err == nil && prepares && tag.String() != preparing {
					err = ErrDoomed // PostgreSQL reports no error when it rolls back a failed transaction instead
				}
				return err
			case *cachingConn:
				if plain, ok := c.connection.(driver.ExecerContext); ok {
					_, err := plain.ExecContext(ctx, text, nil)
					return err
				}
			}
			return fmt.Errorf("%T runs no statements: %w", driverConn, errors.ErrUnsupported)
		})
		if err := db.observe(watched, Statement{Kind: kind, Text: text, Err: err}, began); err != nil {
			return err
		}
	}
	return nil
}

// End commits the prepared transaction of a name, or rolls it back. It returns nil if there is none, because
// it has ended before.
func (db *DB) End(ctx context.Context, name string, commit bool) error {
	if !preparable.MatchString(name) {
		return fmt.Errorf("end transaction %q: no prepared transaction can have that name", name)
	}
	// Two callers may end it at the same time: one of them is refused and has to look again.
	return db.retry(ctx, func() error { return db.endOnce(ctx, name, commit) })
}

// endOnce is one attempt of End.
func (db *DB) endOnce(ctx context.Context, name string, commit bool) error {
	kept, held := db.held.LoadAndDelete(name)
	conn, _ := kept.(*sql.Conn)
	if !held {
		var err error
		if conn, err = db.conn(ctx, db.writers); err != nil {
			return err
		}
	}
	kind := KindRollback
	if commit {
		kind = KindCommit
	}
	err := db.execPlain(ctx, conn, kind, db.endStatement(name, commit))
	if held && err != nil {
		spoil(conn) // once the connection is closed, any other can end the transaction
		return err
	}
	_ = conn.Close() // back to the pool
	switch {
	case isUnknown(err):
		return db.checkNotPrepared(ctx, name)
	case isEndingElsewhere(err):
		return db.Contended("another client is ending transaction " + name)
	case err != nil:
	case commit:
		db.counters.commits.Add(1)
	default:
		db.counters.rollbacks.Add(1)
	}
	return err
}

// checkNotPrepared returns an error if a transaction that End did not find is prepared after all: in MariaDB
// another connection may hold it.
func (db *DB) checkNotPrepared(ctx context.Context, name string) error {
	if db.driver == PostgreSQL {
		return nil
	}
	all, err := db.Prepared(ctx)
	if err == nil && slices.Contains(all, name) {
		err = db.Contended("transaction " + name + " belongs to another connection")
	}
	return err
}

// isUnknown reports whether an error says that no transaction is prepared under a name.
func isUnknown(err error) bool {
	const unknownXID, undefinedObject = 1397, "42704"
	if mariaErr, is := errors.AsType[*mysql.MySQLError](err); is {
		return mariaErr.Number == unknownXID
	}
	postgresErr, is := errors.AsType[*pgconn.PgError](err)
	return is && postgresErr.Code == undefinedObject
}

// isEndingElsewhere reports whether an error means that another session is ending the transaction.
func isEndingElsewhere(err error) bool {
	const notInPrerequisiteState = "55000"
	postgresErr, is := errors.AsType[*pgconn.PgError](err)
	return is && postgresErr.Code == notInPrerequisiteState
}

// Prepared lists the transactions of this database that are prepared and have not ended.
func (db *DB) Prepared(ctx context.Context) (names []string, err error) {
	switch db.driver {
	case PostgreSQL:
		err = db.Each(ctx, func(row Row) error {
			var name string
			err := row.Scan(&name)
			names = append(names, name)
			return err
		}, "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")
	case MariaDB:
		err = db.Each(ctx, func(row Row) error {
			var format, nameLength, qualifierLength int
			var data string // the name and the qualifier; see xid
			if err := row.Scan(&format, &nameLength, &qualifierLength, &data); err != nil {
				return err
			}
			if len(data) == nameLength+qualifierLength && data[nameLength:] == db.name {
				names = append(names, data[:nameLength])
			}
			return nil
		}, "XA RECOVER")
	}
	return names, err
}

// releaseHeld closes the connections of prepared transactions; the transactions stay prepared.
func (db *DB) releaseHeld() {
	db.held.Range(func(name, conn any) bool {
		db.held.Delete(name)
		spoil(conn.(*sql.Conn))
		return true
	})
}
