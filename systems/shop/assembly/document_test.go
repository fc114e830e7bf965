package assembly_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// TestShopsKeepToTheirDocument sends requests made from the document, on every database and where calls and
// events cross units.
func TestShopsKeepToTheirDocument(t *testing.T) {
	created, accepted := []string{"createOrder 201", "cancelOrder 200"}, []string{"createOrder 202",
		"cancelOrder 409"}
	for name, c := range map[string]struct {
		shape
		seeds uint64
		met   []string
	}{
		"sqlite":              {shape{architecture.Monolith, nil}, 3, created},
		"mariadb":             {shape{architecture.Monolith, knobs("database", "mariadb")}, 3, created},
		"postgres":            {shape{architecture.Monolith, knobs("database", "postgres")}, 3, created},
		architecture.Sync:     {shape{architecture.Sync, nil}, 1, created},
		architecture.SyncGRPC: {shape{architecture.SyncGRPC, nil}, 1, created},
		architecture.Async:    {shape{architecture.Async, nil}, 1, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			_, public := start(t, designOf(t, c.of, c.turned), eventParts{})
			expectDocumented(t, public, c.seeds, c.met...)
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
