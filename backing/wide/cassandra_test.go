package wide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
)

// TestCassandra is one server: what it does to it gets worse and worse.
func TestCassandra(t *testing.T) {
	instance := servers.Started(t, server.Cassandra, server.Settings{})
	t.Run("contract", func(t *testing.T) { contract(t, openerOf(t, instance.URL(), "people")) })
	t.Run("wrong password", func(t *testing.T) { wrongPassword(t, instance) })
	t.Run("pause", func(t *testing.T) { pause(t, instance) })
	t.Run("kill", func(t *testing.T) { kill(t, instance) })
}

// kill: everything acknowledged is found, the same client goes on with
// the server that comes back, and a server that is gone is told in time.
func kill(t *testing.T, instance *servers.Instance) {
	store := created(t, openerOf(t, instance.URL(), "people"), "killed")
	var written sync.Map // what was acknowledged
	var acknowledged, refused atomic.Int64
	ending := make(chan struct{})
	var users sync.WaitGroup
	for user := range 16 {
		users.Go(func() {
			for n := user * 1_000_000; ; n++ {
				select {
				case <-ending:
					return
				default:
				}
				err := store.Insert(within(t), "killed", key(n), []byte(fmt.Sprint(n)), nil)
				switch {
				case err == nil:
					written.Store(n, true)
					acknowledged.Add(1)
				case errors.Is(err, ErrUnavailable):
					refused.Add(1)
					time.Sleep(10 * time.Millisecond) // nobody is there: not at full speed
				default:
					t.Error(err)
				}
			}
		})
	}
	await := func(what string, happened func() bool) {
		for end := time.Now().Add(time.Minute); !happened(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("a minute without %s", what)
				return
			}
		}
	}
	await("inserts", func() bool { return acknowledged.Load() > 500 })
	must(t, instance.Kill())
	await("an insert that is refused", func() bool { return refused.Load() > 0 })
	expectTold(t, store)
	before := acknowledged.Load()
	must(t, instance.Restart(context.Background()))
	await("inserts after the restart", func() bool { return acknowledged.Load() > before+500 })
	close(ending)
	users.Wait()
	written.Range(func(n, _ any) bool {
		expect(t, store, "killed", key(n.(int)), fmt.Sprint(n), "")
		return !t.Failed()
	})
	t.Logf("%d inserts acknowledged, %d refused", acknowledged.Load(), refused.Load())
}

// expectTold asks a server that is gone.
func expectTold(t *testing.T, store *Store) {
	t.Helper()
	begin := time.Now()
	if _, err := store.Get(within(t), "killed", key(0)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error of a server that is gone = %v, want %v", err, ErrUnavailable)
	}
	if took := time.Since(begin); took > answerWithin {
		t.Errorf("it took %v", took)
	}
}

// pause: who does not want to wait for a server does not have to, and the client
// goes on with it.
func pause(t *testing.T, instance *servers.Instance) {
	store := created(t, openerOf(t, instance.URL(), "people"), "paused")
	must(t, instance.Pause())
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := store.Insert(ctx, "paused", key(1), []byte("a"), nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("error = %v after %v", err, time.Since(begin))
	}
	must(t, instance.Resume())
	must(t, store.Insert(within(t), "paused", key(2), []byte("b"), nil))
	expect(t, store, "paused", key(2), "b", "")
}

// TestCassandraMustKeepWhatItAcknowledges: else the address must say that it need not.
func TestCassandraMustKeepWhatItAcknowledges(t *testing.T) {
	instance := servers.Started(t, server.Cassandra, server.Settings{Periodic: true})
	store, err := Open(within(t), instance.URL(), Options{Keyspace: "k"})
	must(t, err)
	must(t, store.Close())
	durable, _, _ := strings.Cut(instance.URL(), "?")
	if _, err := Open(within(t), durable, Options{Keyspace: "k"}); err == nil || !strings.Contains(err.Error(), "set commitlog_sync: batch") {
		t.Errorf("error of a server that acknowledges early = %v", err)
	}
}

func TestCassandraThatIsNotThere(t *testing.T) {
	_, err := Open(within(t), "cassandra://user:secret@127.0.0.1:1", Options{Keyspace: "k"})
	if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1:1: is Cassandra running") {
		t.Errorf("error = %v, want %v and no password", err, ErrUnavailable)
	}
}

// wrongPassword is refused, and no message repeats it.
func wrongPassword(t *testing.T, instance *servers.Instance) {
	_, password, _ := strings.Cut(strings.Split(instance.URL(), "@")[0], "cleave:")
	_, err := Open(within(t), strings.ReplaceAll(instance.URL(), password, "wrong-word"), Options{Keyspace: "k"})
	if err == nil || !strings.Contains(err.Error(), "password right?") || strings.Contains(err.Error(), "wrong-word") {
		t.Errorf("error = %v", err)
	}
}
