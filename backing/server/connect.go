package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
)

// DSN is the address with the credentials in it, in the form that the Go client
// of the server takes. The database is that of the name; brokers have none. It is
// a secret: it belongs in environments and files, not in arguments.
func (i *Instance) DSN(database string) string {
	address := url.URL{User: url.UserPassword(i.user, i.password), Host: i.Address()}
	switch i.Kind {
	case MariaDB:
		return mysqlDSN(i, database)
	case Postgres:
		address.Scheme, address.Path, address.RawQuery = "postgres", database, "sslmode=disable"
	case RabbitMQ:
		address.Scheme, address.Path = "amqp", "/"
	case NATS:
		address.Scheme = "nats"
	case Mongo:
		address.Scheme, address.Path, address.RawQuery = "mongodb", database, "directConnection=true&authSource=admin"
	}
	return address.String()
}

// URL is the address of the server as one URL with the credentials. Databases are
// named by who uses them.
func (i *Instance) URL() string {
	if i.Kind != MariaDB && i.Kind != Postgres {
		return i.DSN("")
	}
	address := url.URL{Scheme: string(i.Kind), User: url.UserPassword(i.user, i.password), Host: i.Address()}
	return address.String()
}

// CreateDatabases makes databases in MariaDB or PostgreSQL; names are lower-case
// letters, digits and underscores. Those that exist stay as they are. The other
// servers make theirs when they are first used.
func (i *Instance) CreateDatabases(ctx context.Context, names ...string) error {
	driver, home := "mysql", "mysql"
	switch i.Kind {
	case MariaDB:
	case Postgres:
		driver, home = "pgx", "postgres"
	default:
		return nil
	}
	database, err := sql.Open(driver, i.DSN(home))
	if err != nil {
		return fmt.Errorf("create databases: %w", err)
	}
	defer func() { _ = database.Close() }() // nothing is under way
	for _, name := range names {
		if err := i.createDatabase(ctx, database, name); err != nil {
			return fmt.Errorf("create database %q in %s: %w", name, i.Kind, err)
		}
	}
	return nil
}

func (i *Instance) createDatabase(ctx context.Context, database *sql.DB, name string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`).MatchString(name) {
		return errors.New("a name has up to 63 lower-case letters, digits and underscores and begins with a letter")
	}
	if i.Kind == MariaDB {
		_, err := database.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+name)
		return err
	}
	var there bool
	err := database.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = database.ExecContext(ctx, "CREATE DATABASE "+name)
	return err
}

// searchPath is the least environment of a server: nothing of ours reaches it
// but where programs are.
func searchPath() []string {
	return []string{"PATH=" + os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC"}
}
