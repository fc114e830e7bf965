package database

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// Driver is the kind of a database.
type Driver string

// The kinds of databases.
const (
	SQLite     Driver = "sqlite"
	MariaDB    Driver = "mariadb"
	PostgreSQL Driver = "postgres"
)

// Drivers lists all kinds of databases.
func Drivers() []Driver { return []Driver{SQLite, MariaDB, PostgreSQL} }

// defaultConnections is the default of Config.Connections.
const defaultConnections = 16

// Config configures a DB.
type Config struct {
	Driver Driver `json:"driver"`
	// DSN is the path of the file (SQLite), user:password@tcp(host:port)/name
	// (MariaDB) or a postgres:// URL. It may contain a password, and so must not be in
	// arguments and messages.
	DSN string `json:"dsn"`
	// Connections is the size of the pool; 0 means 16. SQLite has one more connection, for writing. MariaDB
	// and PostgreSQL have a second pool of this size, for Prepare (two-phase commit). End, which releases
	// locks, gets a connection even while all connections of the second pool wait for locks.
	Connections int `json:"connections,omitempty"`
	// Observer is called for every statement; may be nil.
	Observer Observer `json:"-"`
}

// Open connects to a database. It fails if the database does not answer, or if it may lose
// committed transactions.
func Open(ctx context.Context, config Config) (*DB, error) {
	switch config.Driver {
	case SQLite:
		return OpenSQLite(ctx, config)
	case MariaDB:
		return open(ctx, config, openMariaDB, classifyMariaDB)
	case PostgreSQL:
		return open(ctx, config, openPostgreSQL, classifyPostgreSQL)
	}
	return nil, fmt.Errorf("open database: there is no driver %q, use one of %v", config.Driver, Drivers())
}

// OpenSQLite is Open for programs that only use SQLite: the linker leaves the clients of other
// databases out of such a program.
func OpenSQLite(ctx context.Context, config Config) (*DB, error) {
	config.Driver = SQLite
	return open(ctx, config, openSQLite, classifySQLite)
}

// open opens a database with connect. classify returns the class of a driver's error.
func open(
	ctx context.Context, config Config, connect func(*DB, Config) error, classify func(error) failure,
) (*DB, error) {
	config.Connections = cmp.Or(config.Connections, defaultConnections)
	if config.Connections < 0 || config.DSN == "" {
		return nil,
			fmt.Errorf("open %s: %d connections and a DSN of %d characters: give at least one connection and a DSN",
				config.Driver, config.Connections, len(config.DSN))
	}
	db := &DB{driver: config.Driver, observer: config.Observer, classify: classify}
	if err := connect(db, config); err != nil { // connect has opened no connection, so there is none to close
		return nil, err
	}
	if err := db.checkDurable(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// busyMilliseconds is the time that SQLite waits for a lock of another process.
const busyMilliseconds = 10_000

// openSQLite opens one connection for writing and several for reading. Writers wait in Go for
// the one connection, which is fair and costs nothing. SQLite itself would poll for its lock.
func openSQLite(db *DB, config Config) (err error) {
	db.readers, err = sqlitePool(config.DSN, config.Connections, "_pragma=query_only(1)")
	if err != nil {
		return err
	}
	db.writers, err = sqlitePool(config.DSN, 1, "_txlock=immediate")
	return err
}

// sqlitePool returns a pool of connections to a file. option is a parameter of the driver's DSN.
func sqlitePool(path string, connections int, option string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	dsn := fmt.Sprintf("%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&%s",
		file.String(), busyMilliseconds, option)
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open sqlite file %s: %w", path, err)
	}
	// The driver starts a goroutine per statement to watch a context; statements
	// on a file are too short for that.
	return pool(cachingConnector{Connector: connector, unwatched: true}, connections), nil
}

func openMariaDB(db *DB, c Config) error {
	config, err := mysql.ParseDSN(c.DSN)
	if err != nil {
		return fmt.Errorf("open mariadb: its DSN must look like user:password@tcp(host:port)/name: %w", err)
	}
	config.Logger = &mysql.NopLogger{} // errors are returned as well
	// This is the collation of arguments. It ignores trailing spaces: the driver knows no NOPAD collation.
	config.Collation = "utf8mb4_bin"
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["tx_isolation"] = "'READ-COMMITTED'" // as in PostgreSQL
	config.Params["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return fmt.Errorf("open mariadb at %s: %w", config.Addr, err)
	}
	db.name = config.DBName
	db.writers = pool(cachingConnector{Connector: connector}, c.Connections)
	db.preparers = pool(cachingConnector{Connector: connector}, c.Connections)
	db.readers = db.writers
	return nil
}

func openPostgreSQL(db *DB, c Config) error {
	config, err := pgx.ParseConfig(c.DSN) // its errors hide the password
	if err != nil {
		return fmt.Errorf("open postgres: its DSN must look like postgres://user:password@host:port/name: %w", err)
	}
	config.RuntimeParams["default_transaction_isolation"] = "read committed"
	config.RuntimeParams["synchronous_commit"] = "on"
	// This driver caches prepared statements itself, so it needs no cachingConnector, which would also record
	// when a statement gets its connection. These hooks record that time instead.
	noteTime := func(ctx context.Context, _ *pgx.Conn) error {
		gotConnection(ctx)
		return nil
	}
	connector := stdlib.GetConnector(*config, stdlib.OptionAfterConnect(noteTime),
		stdlib.OptionResetSession(noteTime))
	db.writers = pool(connector, c.Connections)
	db.preparers = pool(connector, c.Connections)
	db.readers = db.writers
	return nil
}

// pool returns a pool that keeps its connections open, with their prepared statements.
func pool(connector driver.Connector, connections int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// checkDurable returns an error if the database may lose committed transactions.
func (db *DB) checkDurable(ctx context.Context) error {
	query := map[Driver]string{
		SQLite:     "SELECT CASE synchronous WHEN 2 THEN 'on' ELSE 'off' END FROM pragma_synchronous",
		MariaDB:    "SELECT CASE @@global.innodb_flush_log_at_trx_commit WHEN 1 THEN 'on' ELSE 'off' END",
		PostgreSQL: "SELECT setting FROM pg_settings WHERE name = 'fsync'",
	}[db.driver]
	var got string
	if err := db.writers.QueryRowContext(ctx, query).Scan(&got); err != nil {
		return fmt.Errorf("open %s: is it running, and are address, name and password right? %w", db.driver,
			db.asError("", err))
	}
	if got != "on" {
		return fmt.Errorf("open %s: it does not write commits to disk at once; set "+
			"innodb_flush_log_at_trx_commit=1 (MariaDB) or fsync=on (PostgreSQL)", db.driver)
	}
	return nil
}
