package event_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestADualWritePublishesAfterTheCommit: messages are not published before the commit, after
// a rollback, or if no queue takes their type.
func TestADualWritePublishesAfterTheCommit(t *testing.T) {
	config := database.Config{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "events.db")}
	db := openWithTables(t, config)
	observer := databasetest.Open(t, config)
	w := &recorder{}
	committed := int64(-1)
	w.after = func() { committed = count(t, observer, "effects") }
	direct := event.NewDualWrite(db, w, topology())
	refusal := errors.New("a rule")
	work := func(id string, end error) error {
		return db.Do(t.Context(), func(ctx context.Context) error {
			testset.Must(t, direct.Add(ctx, message(id, "k"), broker.Message{ID: "unwanted", Type: "nobody.cares"}))
			if got := w.ids(); len(got) > 0 {
				t.Errorf("published before the commit: %v", got)
			}
			_, err := db.Exec(ctx, "INSERT INTO effects (id) VALUES (?)", id)
			return errors.Join(err, end)
		})
	}
	if err := work("rolled back", refusal); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	testset.Must(t, work("committed", nil))
	if got := w.ids(); !slices.Equal(got, []string{"committed"}) || committed != 1 {
		t.Errorf("published %v when %d rows were committed, want one of each", got, committed)
	}
	if n := count(t, db, "outbox"); n != 0 {
		t.Errorf("%d rows in the outbox, want no record", n)
	}
	if err := direct.Add(t.Context(), message("", "k")); err == nil {
		t.Error("a message without an id was taken")
	}
}

// TestADualWriteLogsWhatIsLost: if the broker refuses the message, the transaction stays committed, the loss
// is logged, and the publication is not retried.
func TestADualWriteLogsWhatIsLost(t *testing.T) {
	db := sqlite(t)
	w := &recorder{refuse: func(broker.Message) bool { return true }}
	direct := event.NewDualWrite(db, w, topology())
	testset.Must(t, direct.Add(t.Context(), message("1", "k")))
	lost := make(chan error, 1)
	inBackground(t, direct.Run, func(err error) { lost <- err })
	var refused *broker.PublishError
	if err := <-lost; !errors.As(err, &refused) ||
		!strings.HasPrefix(err.Error(), "the messages from 1 on are lost: ") {
		t.Errorf("logged %v", err)
	}
	if n := count(t, db, "outbox"); n != 0 {
		t.Errorf("%d rows in the outbox, want no record", n)
	}
}

// TestADualWriteLogsTheLastLosses: losses that were not logged before the end are logged then.
func TestADualWriteLogsTheLastLosses(t *testing.T) {
	direct := event.NewDualWrite(sqlite(t), &recorder{refuse: func(broker.Message) bool { return true }},
		topology())
	const lost = 20
	for range lost {
		testset.Must(t, direct.Add(t.Context(), message("1", "k")))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	logged := 0
	direct.Run(ended, func(error) { logged++ })
	if logged != lost {
		t.Errorf("%d losses are logged, want %d", logged, lost)
	}
}
