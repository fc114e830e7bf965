package event

import (
	"fmt"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

func TestInboxForgetsWhatIsOld(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		if err := CreateTables(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		notes := newInbox(db)
		ids := make([]string, 150)
		for n := range ids {
			ids[n] = fmt.Sprint(n)
		}
		for consumer, came := range map[string][]string{"a": ids, "another": ids[:1]} {
			if added, err := notes.add(t.Context(), consumer, came); err != nil || added != int64(len(came)) {
				t.Fatalf("of %d messages of %s %d are new, %v", len(came), consumer, added, err)
			}
		}
		now := time.Now()
		for _, c := range []struct {
			before  time.Time
			removes int64
		}{{now.Add(-time.Hour), 0}, {now.Add(time.Second), 150}} {
			if removed, err := notes.prune(t.Context(), "a", c.before); err != nil || removed != c.removes {
				t.Errorf("of the notes before %v %d are removed, want %d, %v", c.before, removed, c.removes, err)
			}
		}
		if added, err := notes.add(t.Context(), "another", ids[:1]); err != nil || added != 0 {
			t.Errorf("the note of the other consumer is gone (%v)", err)
		}
	})
}
