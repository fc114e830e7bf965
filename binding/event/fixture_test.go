package event_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
)

const (
	kind  = "thing.happened"
	queue = "things"
)

func topology() broker.Topology {
	return broker.Topology{Exchange: "test", Queues: []broker.Queue{{Name: queue, Types: []string{kind},
		DeliveryLimit: 2}}}
}

// openWithTables opens a database and creates the tables of outbox and inbox, and one for effects.
func openWithTables(t testing.TB, config database.Config) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	testset.Must(t, event.CreateTables(t.Context(), db))
	testset.Must(t, event.CreateTables(t.Context(), db)) // again, as the next unit would
	_, err := db.Exec(t.Context(), "CREATE TABLE effects (id VARCHAR(100) NOT NULL)")
	testset.Must(t, err)
	return db
}

// sqlite is openWithTables for a new SQLite database.
func sqlite(t testing.TB) *database.DB {
	t.Helper()
	return openWithTables(t, database.Config{Driver: database.SQLite,
		DSN: filepath.Join(t.TempDir(), "events.db")})
}

// count counts the rows of a table.
func count(t testing.TB, db *database.DB, table string) int64 {
	t.Helper()
	var n int64
	_, err := db.One(t.Context(), []any{&n}, "SELECT COUNT(*) FROM "+table)
	testset.Must(t, err)
	return n
}

// alive gives an owner a lease that does not expire, so that no other owner adopts its rows.
func alive(t testing.TB, db *database.DB, owner string) {
	t.Helper()
	_, err := db.Exec(t.Context(), "INSERT INTO outbox_relays (owner, alive_until_us) VALUES (?, ?)", owner,
		int64(1)<<60)
	testset.Must(t, err)
}

// eventually waits until holds returns true. what describes it.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within four minutes: %s", what)
		}
	}
}

// inBackground runs a relay or subscriber in the background until the test ends, or stop is called.
func inBackground(
	t testing.TB, run func(ctx context.Context, logError func(error)), logError func(error),
) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, logError)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// failOnError and ignoreError are logError functions.
func failOnError(t testing.TB) func(error) { return func(err error) { t.Error(err) } }
func ignoreError(error)                    {}

func message(id, key string) broker.Message {
	return broker.Message{ID: id, Type: kind, Key: key, Body: []byte("body of " + id),
		Headers: map[string]string{"from": "test"}}
}

// recorder is a Publisher that records the published messages.
type recorder struct {
	mu        sync.Mutex
	published []broker.Message
	refuse    func(broker.Message) bool
	after     func() // called when the messages are kept, before the confirmation
}

func (w *recorder) Publish(_ context.Context, messages ...broker.Message) error {
	w.mu.Lock()
	failed := &broker.PublishError{Err: errors.New("refused")}
	for i, m := range messages {
		if w.refuse != nil && w.refuse(m) {
			failed.Unconfirmed = append(failed.Unconfirmed, i)
			continue
		}
		w.published = append(w.published, m)
	}
	w.mu.Unlock()
	if w.after != nil {
		w.after()
	}
	if len(failed.Unconfirmed) > 0 {
		return failed
	}
	return nil
}

func (w *recorder) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]string, len(w.published))
	for i, m := range w.published {
		ids[i] = m.ID
	}
	return ids
}

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// brokers returns the starters of the real brokers, by name.
func brokers() map[string]func(testing.TB) broker.Config {
	return map[string]func(testing.TB) broker.Config{"nats": natsServer, "rabbitmq": rabbitServer}
}

// natsServer starts a real server, in a process of its own, so that the race detector
// reports only races of this package.
func natsServer(t testing.TB) broker.Config {
	t.Helper()
	instance := servers.Started(t, server.NATS, server.Settings{})
	return broker.Config{URL: instance.URL(), AckWait: time.Second}
}

// rabbitServer starts a real server, or skips the test where there is none.
func rabbitServer(t testing.TB) broker.Config {
	t.Helper()
	instance := servers.Started(t, server.RabbitMQ, server.Settings{})
	return broker.Config{URL: instance.URL()}
}

// client connects and declares the topology.
func client(t testing.TB, config broker.Config) broker.Client {
	t.Helper()
	c, err := broker.Open(config)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, c.Close()) })
	testset.Must(t, c.Declare(t.Context(), topology()))
	return c
}

// effect returns a handler that inserts one row per message, so that a repeated effect
// shows as a second row.
func effect(db *database.DB) event.Handler {
	return func(ctx context.Context, messages []broker.Message) error {
		for _, m := range messages {
			if string(m.Body) != "body of "+m.ID {
				return fmt.Errorf("message %s says %q", m.ID, m.Body)
			}
			if _, err := db.Exec(ctx, "INSERT INTO effects (id) VALUES (?)", m.ID); err != nil {
				return err
			}
		}
		return nil
	}
}
