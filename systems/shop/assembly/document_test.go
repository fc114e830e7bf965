package assembly_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// TestMonolithKeepsToItsDocument sends requests made from the document.
func TestMonolithKeepsToItsDocument(t *testing.T) {
	design, err := architecture.New(architecture.Monolith, nil)
	must(t, err)
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		expectDocumented(t, run(t, design, open), 3, "createOrder 201", "cancelOrder 200")
	})
}

// TestServicesKeepToTheDocument does the same where calls and events cross units.
func TestServicesKeepToTheDocument(t *testing.T) {
	for name, met := range map[string][]string{
		architecture.Sync:     {"createOrder 201", "cancelOrder 200"},
		architecture.SyncGRPC: {"createOrder 201", "cancelOrder 200"},
		architecture.Async:    {"createOrder 202", "cancelOrder 409"},
	} {
		t.Run(name, func(t *testing.T) {
			design, err := architecture.New(name, nil)
			must(t, err)
			around := eventParts{}
			if design.Broker != "" {
				around = eventParts{broker: natsBroker(t), documents: sqliteDocuments(t)}
			}
			_, public := start(t, design, func(t testing.TB) database.Config {
				return database.Config{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "shop.db")}
			}, around)
			expectDocumented(t, public, 1, met...)
		})
	}
}

// expectDocumented sends requests made from the document, some of them wrong on
// purpose, and reads the answers against it. also are answers that must be met
// beside those that every architecture gives. Where one was not met, because read models
// lag behind on a busy host, more requests follow.
func expectDocumented(t *testing.T, base string, seeds uint64, also ...string) {
	t.Helper()
	wanted := append(also, "createOrder 400", "getOrder 200", "getOrder 404", "listProducts 200")
	met := map[string]int{}
	lacks := func(answer string) bool { return met[answer] == 0 }
	begun := time.Now()
	for seed := uint64(0); seed < seeds || slices.ContainsFunc(wanted, lacks); seed++ {
		if seed >= seeds && time.Since(begun) > time.Minute {
			t.Fatalf("never met one of %q: %v", wanted, met)
		}
		for answer, times := range fuzz(t, base, api.Document(), seed, 600) {
			met[answer] += times
		}
	}
}
