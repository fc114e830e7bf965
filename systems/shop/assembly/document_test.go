package assembly_test

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/schema"
)

// fresh opens a database that holds the suite's shop.
func fresh(t *testing.T, config database.Config) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	ctx := context.Background()
	if err := schema.Create(ctx, db, shop.Components()...); err != nil {
		t.Fatal(err)
	}
	if err := schema.Load(ctx, db, suiteSeed(), shop.Components()...); err != nil {
		t.Fatal(err)
	}
	return db
}

// serve runs a monolith until the test ends and returns its address.
func serve(t *testing.T, db *database.DB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	parts, err := assembly.Monolith(db)
	must(t, err)
	go func() { ended <- api.Serve(ctx, listener, api.NewHandler(parts, db.Ping)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

func TestMonolithBehaves(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		playSuite(t, serve(t, fresh(t, open(t))))
	})
}

// TestMonolithKeepsToItsDocument sends requests made from the document.
func TestMonolithKeepsToItsDocument(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		expectDocumented(t, serve(t, fresh(t, open(t))), 3, "createOrder 201", "cancelOrder 200")
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
