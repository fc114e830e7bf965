package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/testset"
)

// script is a Source that delivers the batches of a test and sends the result of each
// to results.
type script struct {
	batches [][]broker.Message
	results chan error
}

func (s script) Consume(ctx context.Context, _ broker.Subscription, handler broker.Handler) error {
	for _, batch := range s.batches {
		var deliveries []broker.Delivery
		for _, m := range batch {
			deliveries = append(deliveries, broker.Delivery{Message: m, Queue: queue, Attempt: 1})
		}
		s.results <- handler(ctx, deliveries)
	}
	<-ctx.Done()
	return nil
}

// play runs a subscriber with batches of messages with these ids, and returns the result of each batch.
func play(t *testing.T, db *database.DB, handle event.Handler, batches ...[]string) []error {
	t.Helper()
	s := script{results: make(chan error)}
	for _, ids := range batches {
		var batch []broker.Message
		for _, id := range ids {
			batch = append(batch, message(id, "k"))
		}
		s.batches = append(s.batches, batch)
	}
	subscriber := event.Subscriber{Database: db, Source: s, Queue: queue, Handle: handle}
	stop := inBackground(t, subscriber.Run, ignoreError)
	defer stop()
	var results []error
	for range batches {
		select {
		case err := <-s.results:
			results = append(results, err)
		case <-time.After(time.Minute):
			t.Fatal("the subscriber does not finish a batch")
		}
	}
	return results
}

// effects returns the ids of the messages that took effect, repeated for each time.
func effects(t *testing.T, db *database.DB) []string {
	t.Helper()
	var ids []string
	testset.Must(t, db.Each(t.Context(), func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM effects ORDER BY id"))
	return ids
}

// TestEachMessageHasItsEffectOnce: messages are repeated within a batch and in later ones.
func TestEachMessageHasItsEffectOnce(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := openWithTables(t, open(t))
		for n, err := range play(t, db, effect(db), []string{"1", "2"}, []string{"2", "3", "3", "1"}, []string{"1"},
			[]string{"4"}) {
			if err != nil {
				t.Errorf("batch %d: %v", n, err)
			}
		}
		if got := effects(t, db); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
			t.Errorf("effects %v", got)
		}
	})
}

// TestBatchIsOneTransaction: a batch, with its records in the inbox, takes one commit.
func TestBatchIsOneTransaction(t *testing.T) {
	db := sqlite(t)
	before := db.Counters().Commits
	testset.Must(t, play(t, db, effect(db), []string{"1", "2", "3", "4", "5"})[0])
	if commits := db.Counters().Commits - before; commits != 1 {
		t.Errorf("five messages took %d commits", commits)
	}
}

// TestFailureLeavesNothing: a handler fails after a part of its work, which must have no effect.
func TestFailureLeavesNothing(t *testing.T) {
	db := sqlite(t)
	handle := func(ctx context.Context, messages []broker.Message) error {
		testset.Must(t, effect(db)(ctx, messages[:1]))
		if messages[0].ID == "panics" {
			panic("failed by the test")
		}
		return errors.New("failed by the test")
	}
	for _, id := range []string{"fails", "panics"} {
		if err := play(t, db, handle, []string{id})[0]; err == nil {
			t.Errorf("%s was acknowledged", id)
		}
	}
	if records, made := count(t, db, "inbox"), effects(t, db); records != 0 || len(made) != 0 {
		t.Errorf("%d records of the inbox and the effects %v are left", records, made)
	}
}

// TestOutageIsWaitedOut: a handler is unavailable at first. Its messages are retried, but
// neither returned to the broker nor counted as failures.
func TestOutageIsWaitedOut(t *testing.T) {
	db := sqlite(t)
	attempts := 0
	handle := func(ctx context.Context, messages []broker.Message) error {
		if attempts++; attempts < 4 {
			return event.Unavailable(errors.New("away"))
		}
		return effect(db)(ctx, messages)
	}
	testset.Must(t, play(t, db, handle, []string{"1", "2"})[0])
	if got := effects(t, db); len(got) != 2 || attempts != 4 {
		t.Errorf("%d attempts, effects %v", attempts, got)
	}
}

// outages is a Source that fails at once eight times, works for a minute, fails, and then works until the
// context ends. It sends the time of its last failure and of the call after it.
type outages struct {
	calls int
	times chan time.Time
}

func (o *outages) Consume(ctx context.Context, _ broker.Subscription, _ broker.Handler) error {
	o.calls++
	switch o.calls {
	case 9:
		time.Sleep(time.Minute)
		o.times <- time.Now()
	case 10:
		o.times <- time.Now()
		<-ctx.Done()
		return nil
	}
	return errors.New("the broker is unavailable")
}

// TestPausesStartAgainAfterASuccess: the pauses between failed subscriptions grow to a second, and are short
// again after a subscription that worked.
func TestPausesStartAgainAfterASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &outages{times: make(chan time.Time)}
		inBackground(t, event.Subscriber{Source: source, Queue: queue}.Run, ignoreError)
		failed := <-source.times
		if pause := (<-source.times).Sub(failed); pause > 50*time.Millisecond {
			t.Errorf("it paused for %v after the first failure in a minute", pause)
		}
	})
}

// TestHandlerMayTryAgain: a handler returns ErrAgain after its first attempt, whose
// effects must be rolled back.
func TestHandlerMayTryAgain(t *testing.T) {
	db := sqlite(t)
	attempts := 0
	handle := func(ctx context.Context, messages []broker.Message) error {
		testset.Must(t, effect(db)(ctx, messages))
		if attempts++; attempts == 1 {
			return event.ErrAgain
		}
		return nil
	}
	testset.Must(t, play(t, db, handle, []string{"1", "2"})[0])
	if got := effects(t, db); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("effects %v", got)
	}
}

// TestPathUnderFaults sends messages from an outbox to an inbox while each is published
// twice, acknowledgements are lost after the commit, and one message is poison.
func TestPathUnderFaults(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			config := start(t)
			from := sqlite(t)
			to := sqlite(t)
			c := client(t, config)
			outbox := event.NewOutbox(from, "a", topology())
			inBackground(t, event.NewRelay(outbox, twice{c}).Run, failOnError(t))
			poisoned := func(ctx context.Context, messages []broker.Message) error {
				for _, m := range messages {
					if m.ID == "00250" {
						return errors.New("poison")
					}
				}
				return effect(to)(ctx, messages)
			}
			inBackground(t, event.Subscriber{Database: to, Source: &losesAcks{Source: c}, Queue: queue,
				Handle: poisoned}.Run, ignoreError)
			const all = 500
			for n := range all {
				testset.Must(t, outbox.Add(t.Context(), message(fmt.Sprintf("%05d", n), fmt.Sprint(n%20))))
			}
			eventually(t, "all but the poison had their effect",
				func() bool { return count(t, to, "effects") >= all-1 })
			dead := broker.DeadLetters(queue)
			eventually(t, "the poison is a dead letter, both times", func() bool {
				depth, err := c.Depth(t.Context(), dead)
				return err == nil && depth.Ready >= 2 // more if the acknowledgement of a dead letter is lost
			})
			if got := effects(t, to); len(got) != all-1 || len(slices.Compact(got)) != all-1 {
				t.Errorf("%d effects, want %d different ones", len(got), all-1)
			}
		})
	}
}

// twice publishes everything twice.
type twice struct{ event.Publisher }

func (p twice) Publish(ctx context.Context, messages ...broker.Message) error {
	return errors.Join(p.Publisher.Publish(ctx, messages...), p.Publisher.Publish(ctx, messages...))
}

// losesAcks lets every third batch fail after it was handled and committed.
type losesAcks struct {
	event.Source
	batches atomic.Int64
}

func (s *losesAcks) Consume(
	ctx context.Context, subscription broker.Subscription, handler broker.Handler,
) error {
	return s.Source.Consume(ctx, subscription, func(ctx context.Context, deliveries []broker.Delivery) error {
		err := handler(ctx, deliveries)
		if err == nil && s.batches.Add(1)%3 == 0 {
			return errors.New("the acknowledgement was lost")
		}
		return err
	})
}

// TestCompetingConsumers: two processes consume one queue and use one database, while all
// messages are delivered twice.
func TestCompetingConsumers(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		config := natsServer(t)
		from := sqlite(t)
		to := openWithTables(t, open(t))
		outbox := event.NewOutbox(from, "a", topology())
		c := client(t, config)
		for range 2 {
			inBackground(t, event.Subscriber{Database: to, Source: client(t, config), Queue: queue,
				Handle: effect(to)}.Run, ignoreError)
		}
		inBackground(t, event.NewRelay(outbox, twice{c}).Run, failOnError(t))
		const all = 400
		var senders sync.WaitGroup
		for sender := range 4 {
			senders.Go(func() {
				for n := range all / 4 {
					if err := outbox.Add(context.Background(), message(fmt.Sprintf("%d-%05d", sender, n),
						fmt.Sprint(n%20))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		senders.Wait()
		eventually(t, "all had their effect", func() bool { return count(t, to, "effects") >= all })
		eventually(t, "the queue is empty", func() bool {
			depth, err := c.Depth(t.Context(), queue)
			return err == nil && depth.Ready == 0 && depth.Unacked == 0
		})
		if got := effects(t, to); len(got) != all {
			t.Errorf("%d effects of %d messages", len(got), all)
		}
	})
}
