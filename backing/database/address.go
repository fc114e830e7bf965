package database

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Place is a server with databases, or a folder with their files. ParsePlace reads it from
// an address, such as units get from their deployer:
//
//	sqlite:///folder                          a file for each database
//	mariadb://user:password@host:port/prefix
//	postgres://user:password@host:port/prefix
//
// The names of all databases on the server begin with the prefix. It is needed on servers
// that others use, too.
//
// A database is opened by its name, or, in PostgreSQL, as "database.schema": unqualified
// table names then mean those of the schema. "database.one,two" searches several schemas
// in that order.
type Place struct {
	driver Driver
	url    *url.URL
}

// ParsePlace reads an address. Its error does not repeat the password.
func ParsePlace(address string) (Place, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Place{}, errors.New("the database's address is not a URL") // err contains the password
	}
	p := Place{driver: Driver(u.Scheme), url: u}
	isValid := false
	switch p.driver {
	case SQLite:
		isValid = u.Host == "" && filepath.IsAbs(u.Path)
	case MariaDB, PostgreSQL:
		isValid = u.Host != ""
	}
	if isValid {
		return p, nil
	}
	return Place{}, fmt.Errorf("the database's address is %s: use sqlite:///folder, "+
		"mariadb://user:password@host:port or the same with postgres", u.Redacted())
}

// Config returns the configuration for a database, or for schemas of one, by name.
func (p Place) Config(name string, connections int) Config {
	database, schemas, _ := strings.Cut(name, ".")
	return p.config(p.named(database), schemas, connections)
}

// named returns the name of a database on the server, with the prefix.
func (p Place) named(database string) string {
	if p.driver == SQLite {
		return database
	}
	return strings.TrimPrefix(p.url.Path, "/") + database
}

// config returns the configuration for a database by its name with the prefix. Tables are
// looked up in schemas, or if that is empty, in the server's default.
func (p Place) config(name, schemas string, connections int) Config {
	config := Config{Driver: p.driver, Connections: connections}
	switch p.driver {
	case SQLite:
		config.DSN = filepath.Join(p.url.Path, name+".db")
	case MariaDB:
		password, _ := p.url.User.Password()
		config.DSN = fmt.Sprintf("%s:%s@tcp(%s)/%s", p.url.User.Username(), password, p.url.Host, name)
	case PostgreSQL:
		dsn := *p.url
		dsn.Path = "/" + name
		if dsn.RawQuery == "" {
			dsn.RawQuery = "sslmode=disable" // the connection is on loopback or on our own network
		}
		if schemas != "" {
			dsn.RawQuery += "&search_path=" + url.QueryEscape(schemas)
		}
		config.DSN = dsn.String()
	}
	return config
}

// Create creates the databases and schemas with these names that do not exist yet. Each
// part of a name consists of lower-case letters, digits and underscores.
func (p Place) Create(ctx context.Context, names ...string) error {
	schemas := map[string][]string{} // by database
	for _, name := range names {
		if err := p.check(name); err != nil {
			return fmt.Errorf("create database %q: %w", p.named(name), err)
		}
		database, schema, hasSchema := strings.Cut(name, ".")
		all := schemas[database]
		if hasSchema {
			all = append(all, schema)
		}
		schemas[database] = all // also without a schema, so that the database is created
	}
	if p.driver == SQLite {
		return os.MkdirAll(p.url.Path, 0o700)
	}
	databases := slices.Sorted(maps.Keys(schemas))
	err := p.administer(ctx, p.home(), func(db *DB) error {
		for _, database := range databases {
			if err := create(ctx, db, p.named(database)); err != nil {
				return fmt.Errorf("create database %s: %w", p.named(database), err)
			}
		}
		return nil
	})
	for _, database := range databases {
		if err == nil && len(schemas[database]) > 0 {
			err = p.administer(ctx, p.named(database), createSchemas(ctx, schemas[database]))
		}
	}
	return err
}

// check returns an error for an invalid name.
func (p Place) check(name string) error {
	database, schema, hasSchema := strings.Cut(name, ".")
	part := regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	switch {
	case !part.MatchString(p.named(database)), hasSchema && !part.MatchString(schema):
		return errors.New("use up to 63 lower-case letters, digits and underscores, a letter first; a schema " +
			"follows a dot")
	case hasSchema && p.driver != PostgreSQL:
		return fmt.Errorf("a database of %s has no schemas", p.driver)
	}
	return nil
}

// createSchemas returns a function that creates schemas in a database.
func createSchemas(ctx context.Context, schemas []string) func(db *DB) error {
	return func(db *DB) error {
		for _, schema := range schemas {
			if _, err := db.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
				return fmt.Errorf("create schema %s: %w", schema, err)
			}
		}
		return nil
	}
}

// administer opens a database by its name with the prefix, calls work and closes it.
func (p Place) administer(ctx context.Context, name string, work func(db *DB) error) error {
	db, err := Open(ctx, p.config(name, "", 1))
	if err != nil {
		return err
	}
	return errors.Join(work(db), db.Close())
}

// home returns the database that every server has and every user may open.
func (p Place) home() string {
	if p.driver == MariaDB {
		return "information_schema"
	}
	return "postgres"
}

// Version asks the server of the place for its version.
func (p Place) Version(ctx context.Context) (version string, err error) {
	query := map[Driver]string{MariaDB: "SELECT VERSION()",
		PostgreSQL: "SELECT current_setting('server_version')"}[p.driver]
	err = p.administer(ctx, p.home(), func(db *DB) error {
		_, err := db.One(ctx, []any{&version}, query)
		return err
	})
	return version, err
}

// Drop removes the databases of the server for whose names match returns true, with all their
// data.
func (p Place) Drop(ctx context.Context, match func(name string) bool) error {
	list := map[Driver]string{MariaDB: "SELECT schema_name FROM information_schema.schemata",
		PostgreSQL: "SELECT datname FROM pg_database"}[p.driver]
	return p.administer(ctx, p.home(), func(db *DB) error {
		var names []string
		err := db.Each(ctx, func(row Row) error {
			var name string
			err := row.Scan(&name)
			if match(name) {
				names = append(names, name)
			}
			return err
		}, list)
		for _, name := range names {
			if _, dropErr := db.Exec(ctx, "DROP DATABASE IF EXISTS "+name); dropErr != nil {
				err = errors.Join(err, fmt.Errorf("drop database %s: %w", name, dropErr))
			}
		}
		return err
	})
}

// create creates one database if it does not exist. PostgreSQL has no CREATE DATABASE IF NOT EXISTS.
func create(ctx context.Context, db *DB, name string) error {
	if db.Driver() == PostgreSQL {
		var n int64
		if _, err := db.One(ctx, []any{&n}, "SELECT COUNT(*) FROM pg_database WHERE datname = ?",
			name); err != nil || n > 0 {
			return err
		}
		_, err := db.Exec(ctx, "CREATE DATABASE "+name)
		return err
	}
	_, err := db.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+name)
	return err
}
