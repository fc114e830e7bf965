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

// TestInboxForgetsWhatIsOld: prune removes the old records of one consumer, and no others.
func TestInboxForgetsWhatIsOld(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		if err := CreateTables(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		inbox := newInbox(db)
		messages := make([]broker.Message, 150)
		for n := range messages {
			messages[n].ID = fmt.Sprint(n)
		}
		for consumer, handled := range map[string][]broker.Message{"a": messages, "another": messages[:1]} {
			if err := inbox.record(t.Context(), consumer, handled); err != nil {
				t.Fatalf("%d messages of %s: %v", len(handled), consumer, err)
			}
		}
		now := time.Now()
		for _, c := range []struct {
			before time.Time
			left   int
		}{{now.Add(-time.Hour), 150}, {now.Add(time.Second), 0}} {
			err := inbox.prune(t.Context(), "a", c.before)
			fresh, findErr := inbox.unknown(t.Context(), "a", messages)
			if err = errors.Join(err, findErr); err != nil || len(messages)-len(fresh) != c.left {
				t.Errorf("%d records are left after pruning those from before %v, want %d, error %v",
					len(messages)-len(fresh), c.before, c.left, err)
			}
		}
		if err := inbox.record(t.Context(), "another", messages[:1]); !errors.Is(err, errRepeats) {
			t.Errorf("the record of the other consumer is gone (%v)", err)
		}
	})
}
