package server

import (
	"context"
	"database/sql"
	"net/url"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DSN returns the address of a database of the server, which is reached at host:port, in the
// form that the server's Go client uses. Brokers and caches ignore the database. The address
// contains the credentials: it belongs in environments and files, not in arguments.
func (s *Server) DSN(at, database string) string {
	switch s.Kind {
	case MariaDB:
		return s.mysqlDSN(at, database)
	case Postgres:
		return s.address("postgres", at, "/"+database+"?sslmode=disable")
	case RabbitMQ:
		return s.address("amqp", at, "/")
	case NATS:
		return s.address("nats", at, "")
	case Cassandra:
		if s.settings.Periodic {
			return s.address("cassandra", at, "?commitlog_sync=periodic") // else the client refuses the server
		}
		return s.address("cassandra", at, "")
	case Redis, Memcached:
		return s.address(string(s.Kind), at, "")
	}
	return s.address("mongodb", at, "/"+database+"?directConnection=true&authSource=admin")
}

// address returns a URL with the credentials. at is not escaped: it may be a placeholder that
// a deployer replaces (lab.AddressOf).
func (s *Server) address(scheme, at, rest string) string {
	return scheme + "://" + url.UserPassword(s.user, s.password).String() + "@" + at + rest
}

// mysqlDSN returns an address as the Go driver of MySQL expects it.
func (s *Server) mysqlDSN(at, database string) string {
	config := mysql.NewConfig()
	config.User, config.Passwd = s.user, s.password
	config.Net, config.Addr, config.DBName = "tcp", at, database
	config.Timeout = 5 * time.Second
	config.Logger = &mysql.NopLogger{} // errors are returned as well
	return config.FormatDSN()
}

// URL returns the address of the server, which is reached at host:port, with the credentials
// and without a database: the user of the address chooses it. Databases of MariaDB and
// PostgreSQL are created by database.Place; the other servers create theirs on first use.
func (s *Server) URL(at string) string {
	if s.Kind == MariaDB || s.Kind == Postgres {
		return s.address(string(s.Kind), at, "")
	}
	return s.DSN(at, "")
}

// sqlReady returns a check whether a client can log in to a database with a driver and execute a query.
func sqlReady(driver, database string) func(context.Context, *Server, string) error {
	return func(ctx context.Context, s *Server, address string) error {
		db, err := sql.Open(driver, s.DSN(address, database))
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // nothing is lost by an error
		var one int
		return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	}
}

// attemptWithin bounds parts of a check whether a server is ready: the connection to NATS, each
// connection and request to Cassandra, and, if the context has no deadline, the whole check of
// RabbitMQ.
const attemptWithin = 5 * time.Second
