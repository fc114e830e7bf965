package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cleave-lab/cleave/lab"
)

// errLongAnswer is the error of an answer that exceeds the limit.
var errLongAnswer = fmt.Errorf("its answer has more than %d bytes, and no more are read from a database: "+
	"ask for less, with count(*), LIMIT or left(..., 100)", maxAnswer)

// connected is a database of an audit, with at most one connection.
type connected struct {
	*sql.DB
	address  string
	received *atomic.Int64 // bytes that the database has sent since the last reset
}

// connect returns the database d, which is at an address of this host.
func connect(d lab.AuditDatabase, address, password string) (connected, error) {
	db := connected{address: address, received: new(atomic.Int64)}
	switch d.Driver {
	case driverPostgres:
		config, err := postgresConfig(address, password, d)
		if err != nil {
			return db, err
		}
		config.DialFunc = db.dial
		db.DB = stdlib.OpenDB(*config)
	case driverMySQL:
		config := mysql.NewConfig()
		config.Net = "tcp"
		config.Addr = address
		config.DBName = d.Name
		config.User = d.User
		config.Passwd = password
		config.TLSConfig = "preferred"
		config.Logger = &mysql.NopLogger{} // errors are returned as well
		config.DialFunc = db.dial
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return db, fmt.Errorf("its name or its user is invalid: %w", err)
		}
		db.DB = sql.OpenDB(connector)
	default:
		return db, fmt.Errorf("there is no driver %q", d.Driver)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// dial connects to the database. The connection fails after maxAnswer bytes: a single value of a row can have
// a gigabyte, and the drivers hold all of it in memory.
func (c connected) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return limitedConn{conn, c.received}, nil
}

// limitedConn is a connection that counts the bytes that it receives, and fails above maxAnswer.
type limitedConn struct {
	net.Conn
	received *atomic.Int64
}

// Read implements net.Conn.
func (c limitedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.received.Add(int64(n)) > maxAnswer {
		return 0, errLongAnswer
	}
	return n, err
}

// withoutEnvironment sets every parameter that the driver would take from the PG* variables, or from files of
// the user's home: connect_timeout to 10 s, the others to their defaults. postgresConfig sets the remaining.
const withoutEnvironment = "sslmode=prefer&sslnegotiation=&sslcertmode=allow&sslsni=1&sslkey=&sslcert=" +
	"&sslrootcert=&sslpassword=&passfile=&connect_timeout=10&target_session_attrs=any&channel_binding=prefer" +
	"&require_auth=&min_protocol_version=&max_protocol_version="

// checkEnvironment returns an error if a variable is set that the driver of PostgreSQL cannot ignore.
func checkEnvironment() error {
	if os.Getenv("PGSERVICE") != "" {
		return errors.New("the environment has PGSERVICE, which would choose another database: run cleave " +
			"without it (env -u PGSERVICE cleave ...)")
	}
	return nil
}

// postgresConfig returns the configuration of a database of PostgreSQL, which only the system file decides.
func postgresConfig(address, password string, d lab.AuditDatabase) (*pgx.ConnConfig, error) {
	if err := checkEnvironment(); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig("postgres://cleave@" + address + "/?" + withoutEnvironment)
	if err != nil {
		return nil, fmt.Errorf("its address is invalid: %w", err)
	}
	config.Database = d.Name
	config.User = d.User
	config.Password = password
	config.RuntimeParams = map[string]string{"application_name": "cleave"}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // the driver prepares no statements
	return config, nil
}
