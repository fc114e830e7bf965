package event

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestRemovalsPauseAfterFailures: while the database refuses to remove rows, a relay tries ever more rarely,
// and so logs fewer errors. Without pauses it would try every removeEvery.
func TestRemovalsPauseAfterFailures(t *testing.T) {
	db := databasetest.Open(t, database.Config{Driver: database.SQLite,
		DSN: filepath.Join(t.TempDir(), "events.db")}) // without tables, so that removals fail
	r := NewRelay(NewOutbox(db, "a", broker.Topology{}), accepting{})
	r.toRemove = []int64{1}
	ctx, stop := context.WithCancel(t.Context())
	begun := time.Now()
	errs := 0
	r.logError = func(error) {
		if errs++; errs == 6 {
			stop()
		}
	}
	r.keepRemoving(ctx)
	if took, least := time.Since(begun), 31*firstWait; took < least {
		t.Errorf("six attempts took %v, want at least %v for the pauses between them", took, least)
	}
}

// accepting is a broker that accepts all messages.
type accepting struct{}

func (accepting) Publish(context.Context, ...broker.Message) error { return nil }

// TestPublishedRowsOfSharedOutboxes: while published rows of an owner are in the table, messages of other
// owners with the same keys wait. So they are removed at once, and not after removeEvery: publish sends to
// due, which wakes keepRemoving. A beat makes an owner count as alive.
func TestPublishedRowsOfSharedOutboxes(t *testing.T) {
	for owners, atOnce := range map[int]bool{1: false, 2: true} {
		db := databasetest.Open(t, database.Config{Driver: database.SQLite,
			DSN: filepath.Join(t.TempDir(), "events.db")})
		testset.Must(t, CreateTables(t.Context(), db))
		now := time.Now()
		for _, owner := range []string{"a", "b"}[:owners] {
			testset.Must(t, NewOutbox(db, owner, broker.Topology{}).beat(t.Context(), now))
		}
		r := NewRelay(NewOutbox(db, "a", broker.Topology{}), accepting{})
		testset.Must(t, r.countOwners(t.Context(), now))
		published := &row{position: 1, owner: "a", messages: []broker.Message{{ID: "1", Type: "t", Key: "k"}}}
		testset.Must(t, r.publish(t.Context(), []queued{{row: published}}))
		if got := len(r.due) == 1; got != atOnce {
			t.Errorf("%d owners: removed at once: %t, expected %t", owners, got, atOnce)
		}
	}
}
