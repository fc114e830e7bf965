// Package databasetest lets a test run over every kind of database: SQLite in a
// file, MariaDB and PostgreSQL on private servers. It is for tests only.
//
// A server is started once per Servers and ends with the test that made it; each
// use gets an empty database of its own. Where a server's program is missing, the
// test of that database is skipped with the reason.
package databasetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
)

// Servers starts servers when they are first needed.
type Servers struct {
	owner   testing.TB
	mu      sync.Mutex
	running map[database.Driver]*servers.Instance
	failed  map[database.Driver]error
	made    int
}

// NewServers makes servers that end when the owner does.
func NewServers(owner testing.TB) *Servers {
	return &Servers{owner: owner, running: map[database.Driver]*servers.Instance{}, failed: map[database.Driver]error{}}
}

// Each runs a test over every kind of database, as sub-tests named after it. open
// makes an empty database; a test may open several.
func Each(t *testing.T, run func(t *testing.T, open func(t testing.TB) database.Config)) {
	NewServers(t).Each(t, run)
}

// Each does so with servers that several tests share.
func (s *Servers) Each(t *testing.T, run func(t *testing.T, open func(t testing.TB) database.Config)) {
	for _, driver := range database.Drivers() {
		t.Run(string(driver), func(t *testing.T) {
			run(t, func(t testing.TB) database.Config { return s.Fresh(t, driver) })
		})
	}
}

// Open opens a database for a test and closes it after.
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

// Fresh makes an empty database of that kind.
func (s *Servers) Fresh(t testing.TB, driver database.Driver) database.Config {
	t.Helper()
	if driver == database.SQLite {
		return database.Config{Driver: driver, DSN: filepath.Join(t.TempDir(), "shop.db")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	instance, err := s.instance(driver)
	var missing *server.MissingError
	if errors.As(err, &missing) {
		t.Skipf("no %s here: %v", driver, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.made++
	name := fmt.Sprintf("test_%d", s.made)
	place, err := database.ParsePlace(instance.URL())
	if err == nil {
		err = place.Create(context.Background(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return database.Config{Driver: driver, DSN: instance.DSN(name)}
}

// Around is a place on the server of a database of PostgreSQL that Fresh has made;
// the names of all databases there begin with that one's.
func Around(t testing.TB, config database.Config) database.Place {
	t.Helper()
	place, err := database.ParsePlace(strings.Replace(config.DSN, "?", "_?", 1))
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// instance is the running server of that kind, started now if it is the first
// time; a failure is remembered.
func (s *Servers) instance(driver database.Driver) (*servers.Instance, error) {
	if running, ok := s.running[driver]; ok || s.failed[driver] != nil {
		return running, s.failed[driver]
	}
	running, err := s.start(driver)
	if err != nil {
		s.failed[driver] = err
		return nil, err
	}
	s.running[driver] = running
	return running, nil
}

// connections are enough for tests that run side by side, each with all units of a system.
const connections = 500

// start uses a folder near the root: the servers' socket paths must be short.
func (s *Servers) start(driver database.Driver) (*servers.Instance, error) {
	kind := map[database.Driver]server.Kind{database.MariaDB: server.MariaDB, database.PostgreSQL: server.Postgres}[driver]
	dir, err := os.MkdirTemp("", "cleave-db-")
	if err != nil {
		return nil, err
	}
	running, err := servers.Start(context.Background(), kind, dir, server.Settings{Connections: connections})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.owner.Cleanup(func() {
		if err := errors.Join(running.Stop(), os.RemoveAll(dir)); err != nil {
			s.owner.Errorf("stop %s: %v", kind, err)
		}
	})
	return running, nil
}
