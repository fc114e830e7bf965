package assembly_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// TestShopsKeepToTheirDocument sends requests made from the document, on every database and where calls and
// events cross units.
func TestShopsKeepToTheirDocument(t *testing.T) {
	created := []string{"createOrder 201", "cancelOrder 200"}
	accepted := []string{"createOrder 202",
		"cancelOrder 409"}
	for name, c := range map[string]struct {
		shape
		met []string
	}{
		"sqlite":              {shape{architecture.Monolith, nil}, created},
		"mariadb":             {shape{architecture.Monolith, knobs("database", "mariadb")}, created},
		"postgres":            {shape{architecture.Monolith, knobs("database", "postgres")}, created},
		architecture.Sync:     {shape{architecture.Sync, nil}, created},
		architecture.SyncGRPC: {shape{architecture.SyncGRPC, nil}, created},
		architecture.Async:    {shape{architecture.Async, nil}, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			_, public := start(t, designOf(t, c.of, c.turned), eventParts{})
			expectDocumented(t, public, c.met...)
		})
	}
}

// openAPI returns the OpenAPI description of the shop.
func openAPI(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../api/openapi.yaml")
	testset.Must(t, err)
	return text
}

// expectDocumented sends requests made from the document, some of them wrong on purpose, and checks the
// answers against it. also lists answers that must occur besides those of every architecture. As long as one
// has not occurred, because read models lag behind on a busy host, more requests follow.
func expectDocumented(t *testing.T, base string, also ...string) {
	t.Helper()
	wanted := append(also, "createOrder 400", "getOrder 200", "getOrder 404", "listProducts 200")
	met := map[string]int{}
	lacks := func(answer string) bool { return met[answer] == 0 }
	begun := time.Now()
	for seed := uint64(0); seed == 0 || slices.ContainsFunc(wanted, lacks); seed++ {
		if seed > 0 && time.Since(begun) > time.Minute {
			t.Fatalf("never met one of %q: %v", wanted, met)
		}
		for answer, times := range fuzz(t, base, openAPI(t), seed, 600) {
			met[answer] += times
		}
	}
}
