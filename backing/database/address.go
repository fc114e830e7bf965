package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
)

// Place is where databases are: a server, or a folder of files. It is read from an
// address, such as a deployer hands to units:
//
//	sqlite:///folder                   a file for each database
//	mariadb://user:password@host:port
//	postgres://user:password@host:port
type Place struct {
	driver Driver
	url    *url.URL
}

// ParsePlace reads an address. Its error does not repeat the password.
func ParsePlace(address string) (Place, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Place{}, errors.New("the database's address is not a URL")
	}
	p := Place{driver: Driver(u.Scheme), url: u}
	switch {
	case p.driver == SQLite && u.Host == "" && filepath.IsAbs(u.Path):
		return p, nil
	case (p.driver == MariaDB || p.driver == PostgreSQL) && u.Host != "":
		return p, nil
	}
	return Place{}, fmt.Errorf("the database's address is %s: use sqlite:///folder, mariadb://user:password@host:port or the same with postgres", u.Redacted())
}

// Driver is the kind of the databases there.
func (p Place) Driver() Driver { return p.driver }

// Config opens a database of the place by name.
func (p Place) Config(name string, connections int) Config {
	config := Config{Driver: p.driver, Connections: connections}
	switch p.driver {
	case SQLite:
		config.DSN = filepath.Join(p.url.Path, name+".db")
	case MariaDB:
		password, _ := p.url.User.Password()
		config.DSN = fmt.Sprintf("%s:%s@tcp(%s)/%s", p.url.User.Username(), password, p.url.Host, name)
	case PostgreSQL:
		there := *p.url
		there.Path = "/" + name
		if there.RawQuery == "" {
			there.RawQuery = "sslmode=disable" // loopback, or a network of our own
		}
		config.DSN = there.String()
	}
	return config
}

// Create makes empty databases where they are missing. Names are lower-case
// letters, digits and underscores.
func (p Place) Create(ctx context.Context, names ...string) (err error) {
	for _, name := range names {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`).MatchString(name) {
			return fmt.Errorf("create database %q: use lower-case letters, digits and underscores, a letter first", name)
		}
	}
	home := map[Driver]string{MariaDB: "mysql", PostgreSQL: "postgres"}[p.driver]
	if home == "" {
		return os.MkdirAll(p.url.Path, 0o700)
	}
	db, err := Open(ctx, p.Config(home, 1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, name := range names {
		if err := create(ctx, db, name); err != nil {
			return fmt.Errorf("create database %s: %w", name, err)
		}
	}
	return nil
}

// create makes one database. PostgreSQL has no IF NOT EXISTS for it.
func create(ctx context.Context, db *DB, name string) error {
	if db.Driver() == PostgreSQL {
		var n int64
		if _, err := db.One(ctx, []any{&n}, "SELECT COUNT(*) FROM pg_database WHERE datname = ?", name); err != nil || n > 0 {
			return err
		}
		_, err := db.Exec(ctx, "CREATE DATABASE "+name)
		return err
	}
	_, err := db.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+name)
	return err
}
