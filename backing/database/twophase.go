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
	// lockWaitSeconds is how long a transaction that is to be prepared waits for a lock: the locks of another
	// one may be held for as long as its coordinator is away.
	lockWaitSeconds = 1
	// preparing is the statement of PostgreSQL that prepares a transaction.
	preparing = "PREPARE TRANSACTION"
	// undoing bounds what ends a transaction whose work has failed.
	undoing = 5 * time.Second
)

// preparable are the names that all databases take.
var preparable = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckPrepare returns an error that says what to set, if the server is set to prepare no transactions:
// PostgreSQL is so by default.
func (db *DB) CheckPrepare(ctx context.Context) error {
	if db.driver != PostgreSQL {
		return nil
	}
	var most int64
	_, err := db.One(ctx, []any{&most}, "SELECT current_setting('max_prepared_transactions')::int")
	if err == nil && most == 0 {
		err = errors.New("PostgreSQL prepares no transactions: set max_prepared_transactions in its " +
			"configuration, at least as high as max_connections, and start it again")
	}
	return err
}

// Prepare runs work in a transaction of its own, as Do does, and prepares it under a name that no other one
// of the server has: it is durable and keeps its locks until End commits it or rolls it back, also when
// this program or the server ends meanwhile. After an error it may be prepared or not; Prepared tells.
//
// To MariaDB a prepared transaction belongs to its connection as long as that is open: the DB keeps it apart
// from the pool until then, and End must be called on the same DB, or after this one is closed.
func (db *DB) Prepare(ctx context.Context, name string, work func(ctx context.Context) error) error {
	if db.driver == SQLite {
		return fmt.Errorf("prepare a transaction of %s: %w", db.driver, errors.ErrUnsupported)
	}
	if !preparable.MatchString(name) {
		return fmt.Errorf("prepare transaction %q: its name is up to 64 letters, digits, dots and dashes", name)
	}
	return db.retry(ctx, func() error {
		conn, err := db.preparers.Conn(ctx)
		if err != nil {
			return db.failed("", err)
		}
		return db.prepareOn(ctx, conn, name, work)
	})
}

// prepareOn is Prepare, once, on a connection.
func (db *DB) prepareOn(
	ctx context.Context, conn *sql.Conn, name string, work func(ctx context.Context) error,
) error {
	current, finished := &transaction{tx: conn}, false
	defer func() {
		if !finished { // work has failed or panicked
			db.undo(ctx, conn, name)
		}
	}()
	if err := db.execPlain(ctx, conn, KindBegin, db.beginStatements(name)...); err != nil {
		return err
	}
	err := work(context.WithValue(ctx, carried{db}, current))
	if err == nil && current.doomed != nil {
		err = fmt.Errorf("%w: %w", ErrDoomed, current.doomed)
	}
	if err == nil {
		err = db.execPlain(ctx, conn, KindExec, db.prepareStatements(name)...)
	}
	if err != nil {
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

// undo ends a transaction whose work has failed. A connection of which that is not certain is closed, which
// undoes what is not prepared.
func (db *DB) undo(ctx context.Context, conn *sql.Conn, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	texts := []string{"ROLLBACK"}
	if db.driver == MariaDB {
		// After a deadlock it says that all is rolled back, and has ended the transaction nevertheless.
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

// spoil closes a connection for good.
func spoil(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
}

// xid returns how MariaDB writes the name of a transaction of this database.
func (db *DB) xid(name string) string { return "'" + name + "','" + db.name + "'" }

func (db *DB) beginStatements(name string) []string {
	if db.driver == PostgreSQL {
		return []string{"BEGIN; SET LOCAL lock_timeout = '" + strconv.Itoa(lockWaitSeconds) + "s'"}
	}
	return []string{"SET SESSION innodb_lock_wait_timeout = " + strconv.Itoa(lockWaitSeconds),
		"XA START " + db.xid(name)}
}

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

// execPlain runs statements on a connection without preparing them: each has a text of its own.
func (db *DB) execPlain(ctx context.Context, conn *sql.Conn, kind StatementKind, texts ...string) error {
	for _, text := range texts {
		watched, began := db.begin(ctx)
		err := conn.Raw(func(of any) error {
			switch c := of.(type) {
			case *stdlib.Conn:
				tag, err := c.Conn().Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
				if err == nil && strings.HasPrefix(text, preparing) && tag.String() != preparing {
					err = ErrDoomed // it has rolled back what had failed before, and reports no error
				}
				return err
			case *cachingConn:
				if plain, able := c.connection.(driver.ExecerContext); able {
					_, err := plain.ExecContext(ctx, text, nil)
					return err
				}
			}
			return fmt.Errorf("%T runs no statements: %w", of, errors.ErrUnsupported)
		})
		if err := db.observe(watched, Statement{Kind: kind, Text: text, Err: err}, began); err != nil {
			return err
		}
	}
	return nil
}

// End commits the prepared transaction of a name, or rolls it back. Where there is none, it has ended before.
func (db *DB) End(ctx context.Context, name string, commit bool) error {
	if !preparable.MatchString(name) {
		return fmt.Errorf("end transaction %q: nothing is prepared under such a name", name)
	}
	// Two may end it at the same time.
	return db.retry(ctx, func() error { return db.endOnce(ctx, name, commit) })
}

// endOnce is End, tried once.
func (db *DB) endOnce(ctx context.Context, name string, commit bool) error {
	var conn *sql.Conn
	kept, held := db.held.LoadAndDelete(name)
	if held {
		conn = kept.(*sql.Conn)
	} else {
		var err error
		if conn, err = db.writers.Conn(ctx); err != nil {
			return db.failed("", err)
		}
	}
	err := db.execPlain(ctx, conn, KindCommit, db.endStatement(name, commit))
	if held && err != nil {
		spoil(conn) // any other may end it
		return err
	}
	_ = conn.Close() // back to the pool
	switch {
	case isUnknown(err):
		return db.checkNotPrepared(ctx, name)
	case endsElsewhere(err):
		return db.Contended("somebody else is ending transaction " + name)
	case err != nil:
	case commit:
		db.counters.commits.Add(1)
	default:
		db.counters.rollbacks.Add(1)
	}
	return err
}

// checkNotPrepared returns an error if a transaction that could not be ended is prepared: another connection
// holds it.
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
	var ofMariaDB *mysql.MySQLError
	var ofPostgreSQL *pgconn.PgError
	return errors.As(err, &ofMariaDB) && ofMariaDB.Number == unknownXID ||
		errors.As(err, &ofPostgreSQL) && ofPostgreSQL.Code == undefinedObject
}

// endsElsewhere reports whether an error says that somebody else is ending the transaction.
func endsElsewhere(err error) bool {
	const notInPrerequisiteState = "55000"
	var ofPostgreSQL *pgconn.PgError
	return errors.As(err, &ofPostgreSQL) && ofPostgreSQL.Code == notInPrerequisiteState
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
			var format, first, second int
			var data string
			if err := row.Scan(&format, &first, &second, &data); err != nil {
				return err
			}
			if len(data) == first+second && data[first:] == db.name {
				names = append(names, data[:first])
			}
			return nil
		}, "XA RECOVER")
	}
	return names, err
}

// releaseHeld closes the connections of prepared transactions, which stay prepared.
func (db *DB) releaseHeld() {
	db.held.Range(func(name, conn any) bool {
		db.held.Delete(name)
		spoil(conn.(*sql.Conn))
		return true
	})
}
