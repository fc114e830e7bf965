package event_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestWhatIsRolledBackIsNotPublished(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := openWithTables(t, open(t))
		w := &recorder{}
		outbox := event.NewOutbox(db, "a", topology())
		refusal := errors.New("a rule")
		err := db.Do(t.Context(), func(ctx context.Context) error {
			testset.Must(t, outbox.Add(ctx, message("lost", "k")))
			return refusal
		})
		if !errors.Is(err, refusal) {
			t.Fatal(err)
		}
		testset.Must(t, outbox.Add(t.Context(), message("kept", "k"),
			broker.Message{ID: "unwanted", Type: "nobody.cares"}))
		inBackground(t, event.NewRelay(outbox, w).Run, failOnError(t))
		eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
		if got := w.ids(); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("published %v", got)
		}
		want := message("kept", "k")
		if got := w.published[0]; got.Key != want.Key || got.Type != want.Type ||
			string(got.Body) != string(want.Body) || !maps.Equal(got.Headers, want.Headers) {
			t.Errorf("published %+v, left %+v", got, want)
		}
	})
}

func TestMessageWithoutIDIsAMistake(t *testing.T) {
	outbox := event.NewOutbox(sqlite(t), "a", topology())
	if err := outbox.Add(t.Context(), message("", "k")); err == nil {
		t.Error("a message without an id was taken")
	}
}

// TestLateCommitIsPublished: the transaction with the lowest position commits last. A relay
// that polls for positions above the last one would never see its message.
func TestLateCommitIsPublished(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := openWithTables(t, open(t))
		w := &recorder{}
		if db.Driver() == database.SQLite {
			t.Skip("SQLite has one writer at a time: positions become visible in order")
		}
		outbox := event.NewOutbox(db, "a", topology())
		inBackground(t, event.NewRelay(outbox, w).Run, failOnError(t))
		testset.Must(t, db.Do(t.Context(), func(ctx context.Context) error {
			testset.Must(t, outbox.Add(ctx, message("early position", "k1")))
			testset.Must(t, outbox.Add(t.Context(), message("late position", "k2"))) // in another transaction
			eventually(t, "the later one is published", func() bool { return len(w.ids()) == 1 })
			return nil
		}))
		eventually(t, "both are published", func() bool { return len(w.ids()) == 2 })
		if got := w.ids(); !slices.Equal(got, []string{"late position", "early position"}) {
			t.Errorf("published %v", got)
		}
	})
}

// threeTimes returns a function that refuses the message with this ID three times.
func threeTimes(id string) func(broker.Message) bool {
	refused := 0
	return func(m broker.Message) bool {
		isRefused := m.ID == id && refused < 3
		if isRefused {
			refused++
		}
		return isRefused
	}
}

// TestUnconfirmedIsPublishedAgain: the broker refuses a message three times.
func TestUnconfirmedIsPublishedAgain(t *testing.T) {
	db := sqlite(t)
	w := &recorder{refuse: threeTimes("2")}
	outbox := event.NewOutbox(db, "a", topology())
	testset.Must(t, outbox.Add(t.Context(), message("1", "a"), message("2", "b"), message("3", "c")))
	complaints := 0
	stop := inBackground(t, event.NewRelay(outbox, w).Run, func(error) { complaints++ })
	eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
	stop()
	if got := w.ids(); !slices.Equal(got, []string{"1", "3", "2"}) || complaints != 3 {
		t.Errorf("published %v, %d complaints", got, complaints)
	}
}

// TestUnconfirmedIsNotOvertaken: the broker refuses a message three times. Another message of its key, added
// after the first refusal, waits for it, and one of another key does not.
func TestUnconfirmedIsNotOvertaken(t *testing.T) {
	db := sqlite(t)
	w := &recorder{refuse: threeTimes("1")}
	outbox := event.NewOutbox(db, "a", topology())
	testset.Must(t, outbox.Add(t.Context(), message("1", "k")))
	complaints := 0
	inBackground(t, event.NewRelay(outbox, w).Run, func(error) {
		if complaints++; complaints > 1 {
			return
		}
		if err := outbox.Add(t.Context(), message("2", "k"), message("3", "other")); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
	if got := w.ids(); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("published %v", got)
	}
}

// TestRelayDiesBeforeItRemoves: a relay hangs before it gets the broker's confirmation.
// Its successor publishes the messages again, and none is lost.
func TestRelayDiesBeforeItRemoves(t *testing.T) {
	db := sqlite(t)
	outbox := event.NewOutbox(db, "a", topology())
	testset.Must(t, outbox.Add(t.Context(), message("1", "k"), message("2", "k")))
	dying := make(chan struct{})
	over := make(chan struct{})
	first := &recorder{after: func() {
		close(dying)
		<-over // the first relay gets no confirmation before the test ends
	}}
	inBackground(t, event.NewRelay(outbox, first).Run, ignoreError)
	t.Cleanup(func() { close(over) })
	<-dying
	second := &recorder{}
	inBackground(t, event.NewRelay(event.NewOutbox(db, "a", topology()), second).Run, failOnError(t))
	eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
	if want := []string{"1", "2"}; !slices.Equal(first.ids(), want) || !slices.Equal(second.ids(), want) {
		t.Errorf("published %v, then %v", first.ids(), second.ids())
	}
}

// TestOwnersKeepTheOrderOfAKey: a second process adds a message while an older message of
// the first process, with the same key, is not published yet.
func TestOwnersKeepTheOrderOfAKey(t *testing.T) {
	db := sqlite(t)
	w := &recorder{}
	a := event.NewOutbox(db, "a", topology())
	b := event.NewOutbox(db, "b", topology())
	testset.Must(t, a.Add(t.Context(), message("a1", "shared")))
	testset.Must(t, b.Add(t.Context(), message("b1", "shared"), message("b2", "other")))
	alive(t, db, "a") // but its relay does not run yet
	inBackground(t, event.NewRelay(b, w).Run, failOnError(t))
	eventually(t, "the message that waits for no other is published", func() bool { return len(w.ids()) > 0 })
	if got := w.ids(); !slices.Equal(got, []string{"b2"}) {
		t.Errorf("b published %v", got)
	}
	inBackground(t, event.NewRelay(a, w).Run, failOnError(t))
	eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
	if got := w.ids(); !slices.Equal(got, []string{"b2", "a1", "b1"}) {
		t.Errorf("published %v", got)
	}
}

// TestDeadOwnersMessagesArePublishedByOthers: the lease of an owner has expired.
func TestDeadOwnersMessagesArePublishedByOthers(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := openWithTables(t, open(t))
		w := &recorder{}
		testset.Must(t, event.NewOutbox(db, "dead", topology()).Add(t.Context(), message("1", "k")))
		_, err := db.Exec(t.Context(), "INSERT INTO outbox_relays (owner, alive_until_us) VALUES ('dead', 1)")
		testset.Must(t, err)
		inBackground(t, event.NewRelay(event.NewOutbox(db, "alive", topology()), w).Run, failOnError(t))
		eventually(t, "it is published", func() bool { return len(w.ids()) == 1 })
	})
}

// TestTwoProcessesPublishEverythingInOrder: two relays work on one database while messages
// with few keys are added. Per key, messages are first published in their order.
func TestTwoProcessesPublishEverythingInOrder(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := openWithTables(t, open(t))
		w := &recorder{}
		outboxes := []*event.Outbox{event.NewOutbox(db, "a", topology()), event.NewOutbox(db, "b", topology())}
		for _, outbox := range outboxes {
			inBackground(t, event.NewRelay(outbox, w).Run, failOnError(t))
		}
		const all, keys = 600, 3
		for n := range all {
			testset.Must(t, outboxes[n%2].Add(t.Context(), message(fmt.Sprintf("%05d", n), fmt.Sprint(n%keys))))
		}
		eventually(t, "the outbox is empty", func() bool { return count(t, db, "outbox") == 0 })
		last := map[string]string{}
		first := map[string]bool{}
		for _, m := range w.published {
			if !first[m.ID] && m.ID < last[m.Key] {
				t.Errorf("key %s: %s was published after %s", m.Key, m.ID, last[m.Key])
			}
			first[m.ID] = true
			last[m.Key] = max(last[m.Key], m.ID)
		}
		if len(first) != all {
			t.Errorf("%d of %d messages were published", len(first), all)
		}
	})
}
