package architecture

import (
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestWhoSharesTheHost: a tuned unit shares the host if there are other units and it has no files of its own.
func TestWhoSharesTheHost(t *testing.T) {
	for _, c := range []struct {
		name      string
		knobs     map[string]string
		unit      string
		shares    bool
		of12, of2 int // the unit's share of so many processors
	}{
		// it is the only unit
		{Monolith, map[string]string{KnobDatabase: mariadb, KnobRuntime: runtimeSharedHost}, "shop", false, 12, 2},
		{SyncGRPCTuned, nil, "orders", false, 4, 1}, // SQLite is in the process
		{MonolithHA, map[string]string{KnobDatabase: postgres, KnobRuntime: runtimeSharedHost}, "shop", true, 12,
			2},
		{SyncGRPCTuned, map[string]string{KnobDatabase: mariadb}, "orders", true, 4, 1},
		{SyncGRPCTuned, map[string]string{KnobDatabase: mariadb, KnobReplicas: "orders=3"}, "orders", true, 3, 1},
		{SyncGRPC, map[string]string{KnobDatabase: mariadb}, "orders", false, 4, 1},
		{AsyncTuned, map[string]string{KnobDatabase: mariadb}, "orders", true, 3, 1},
		{AsyncTuned, map[string]string{KnobDatabase: mariadb}, "orderviews", false, 3, 1}, // documents in files
		{AsyncTuned, map[string]string{KnobDatabase: mariadb, KnobDocuments: "mongo"}, "orderviews", true, 3, 1},
	} {
		d, err := New(c.name, c.knobs)
		testset.Must(t, err)
		found := false
		for _, unit := range d.Units {
			if unit.Name == c.unit {
				found = true
				if got := d.SharesHost(unit); got != c.shares {
					t.Errorf("%s %v, unit %s: shares %v, want %v", c.name, c.knobs, c.unit, got, c.shares)
				}
			}
		}
		if of12, of2 := d.ShareOf(12), d.ShareOf(2); !found || of12 != c.of12 || of2 != c.of2 {
			t.Errorf("%s %v: unit found %v, shares of 12 and 2 processors %d and %d, want %d and %d", c.name, c.knobs,
				found, of12, of2, c.of12, c.of2)
		}
	}
}
