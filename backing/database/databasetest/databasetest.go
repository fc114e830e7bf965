// Package databasetest runs a test with every kind of database: SQLite in a file,
// MariaDB and PostgreSQL on private servers. It is for tests only.
//
// All tests of a program share the servers; each use gets an empty database of its own.
// If a server's program is not installed, the test of that database is skipped with the
// reason.
package databasetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
)

// Each runs a test with every kind of database, as subtests named after the kind. fresh
// creates an empty database, as Fresh does; a test may create several.
func Each(t *testing.T, run func(t *testing.T, fresh func(t testing.TB) database.Config)) {
	for _, driver := range database.Drivers() {
		t.Run(string(driver), func(t *testing.T) {
			run(t, func(t testing.TB) database.Config { return Fresh(t, driver) })
		})
	}
}

// Open opens a database and closes it when the test ends.
func Open(t testing.TB, config database.Config) *database.DB {
	t.Helper()
	db, err := database.Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// connections is the limit of a server: enough for parallel tests, each with all units of a system.
const connections = 500

// Fresh creates an empty database of that kind and returns the configuration to open it.
func Fresh(t testing.TB, driver database.Driver) database.Config {
	t.Helper()
	kind, served := map[database.Driver]server.Kind{database.MariaDB: server.MariaDB,
		database.PostgreSQL: server.Postgres}[driver]
	if !served {
		return database.Config{Driver: driver, DSN: filepath.Join(t.TempDir(), "shop.db")}
	}
	instance := servers.Shared(t, kind, server.Settings{Connections: connections})
	name := fmt.Sprintf("test_%016x", rand.Uint64())
	place, err := database.ParsePlace(instance.URL())
	if err == nil {
		err = place.Create(context.Background(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return place.Config(name, 0)
}

// Around returns a Place on the server of a PostgreSQL database from Fresh. The names of all
// databases of the Place begin with the name of that database and an underscore.
func Around(t testing.TB, config database.Config) database.Place {
	t.Helper()
	place, err := database.ParsePlace(strings.Replace(config.DSN, "?", "_?", 1))
	if err != nil {
		t.Fatal(err)
	}
	return place
}
