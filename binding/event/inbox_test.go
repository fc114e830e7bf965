package event

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
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
		messages := make([]broker.Message, 150)
		for n := range messages {
			messages[n].ID = fmt.Sprint(n)
		}
		for consumer, came := range map[string][]broker.Message{"a": messages, "another": messages[:1]} {
			if err := notes.record(t.Context(), consumer, came); err != nil {
				t.Fatalf("%d messages of %s: %v", len(came), consumer, err)
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
		if err := notes.record(t.Context(), "another", messages[:1]); !errors.Is(err, errRepeats) {
			t.Errorf("the note of the other consumer is gone (%v)", err)
		}
	})
}
