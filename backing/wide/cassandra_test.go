package wide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// TestCassandra runs all tests on one server, from harmless to destructive.
func TestCassandra(t *testing.T) {
	instance := servers.Started(t, server.Cassandra, server.Settings{})
	t.Run("contract", func(t *testing.T) { contract(t, openerOf(t, instance.URL(), "people")) })
	t.Run("wrong password", func(t *testing.T) { wrongPassword(t, instance) })
	t.Run("pause", func(t *testing.T) { pause(t, instance) })
	t.Run("comes and goes", func(t *testing.T) { comesAndGoes(t, instance) })
	t.Run("preparing", func(t *testing.T) { preparing(t, instance) })
	t.Run("kill", func(t *testing.T) { kill(t, instance) })
}

// comesAndGoes checks that the client works again after many short periods in which the server was
// unreachable.
func comesAndGoes(t *testing.T, instance *servers.Instance) {
	store, gate := gated(t, instance)
	ending := make(chan struct{})
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-ending:
					return
				case <-time.After(time.Millisecond):
					_, _ = store.Get(within(t), "gated", key(1)) // found or not
				}
			}
		})
	}
	gate.comeAndGo(t)
	close(ending)
	users.Wait()
	time.Sleep(3 * time.Second) // without requests that would make the driver reconnect
	testset.Must(t, store.Insert(within(t), "gated", key(1), []byte("a"), nil))
}

// gated returns a store with a table named gated, and the gate through which it reaches the server.
func gated(t *testing.T, instance *servers.Instance) (*Store, *gate) {
	address, err := url.Parse(instance.URL())
	testset.Must(t, err)
	gate := newGate(t, address.Host)
	address.Host = gate.address
	return created(t, openerOf(t, address.String(), "people"), "gated"), gate
}

// preparing checks that reading fails only with ErrUnavailable while the server comes and goes. The driver
// cancels the preparation of a statement whose connection has ended, though its caller cancels nothing.
func preparing(t *testing.T, instance *servers.Instance) {
	store, gate := gated(t, instance)
	var statements atomic.Uint64
	unprepared := func() Table { // each has a statement of its own
		all := table("gated")
		for bits := statements.Add(1); bits > 0; bits /= 2 {
			all.Columns = append(all.Columns, all.Columns[bits%2])
		}
		return all
	}
	var ending atomic.Bool
	var users sync.WaitGroup
	for range 64 {
		users.Go(func() {
			for !ending.Load() {
				_, _, err := store.driver.page(within(t), unprepared(), nil)
				if err != nil && !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
			}
		})
	}
	gate.comeAndGo(t)
	ending.Store(true)
	users.Wait()
}

// gate is a TCP proxy to a server. Closing it ends all connections except the oldest one, which is
// the driver's control connection: by its loss the driver would notice that the server is down.
type gate struct {
	address, server string
	listener        net.Listener
	accepting       sync.WaitGroup
	passing         []*passage // used by the accepting goroutine, or by close after its end
}

// passage is a client's connection and its connection to the server.
type passage struct {
	client, server net.Conn
	ended          atomic.Bool
}

func newGate(t *testing.T, server string) *gate {
	g := &gate{address: "127.0.0.1:0", server: server}
	g.open(t)
	return g
}

func (g *gate) open(t *testing.T) {
	listener, err := net.Listen("tcp", g.address)
	testset.Must(t, err)
	g.listener = listener
	g.address = listener.Addr().String()
	t.Cleanup(func() { _ = listener.Close() })
	g.accepting.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", g.server)
			if err != nil {
				_ = client.Close()
				continue
			}
			p := &passage{client: client, server: server}
			g.passing = append(g.passing, p)
			go p.carry(server, client)
			go p.carry(client, server)
		}
	})
}

// carry copies in one direction and then closes both connections.
func (p *passage) carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	p.end()
}

func (p *passage) end() {
	p.ended.Store(true)
	_ = p.client.Close()
	_ = p.server.Close()
}

func (g *gate) close() {
	_ = g.listener.Close()
	g.accepting.Wait()
	g.passing = slices.DeleteFunc(g.passing, func(p *passage) bool { return p.ended.Load() })
	for _, p := range g.passing[min(1, len(g.passing)):] {
		p.end()
	}
}

// comeAndGo closes and opens the gate many times.
func (g *gate) comeAndGo(t *testing.T) {
	for range 100 {
		g.close()
		time.Sleep(rand.N(150 * time.Millisecond))
		g.open(t)
		time.Sleep(rand.N(60 * time.Millisecond))
	}
}

// kill checks that no acknowledged record is lost, requests fail with ErrUnavailable while the server
// is down, and the same client works again after its restart.
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
					time.Sleep(10 * time.Millisecond) // do not spin while the server is down
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
	testset.Must(t, instance.Kill())
	await("an insert that is refused", func() bool { return refused.Load() > 0 })
	expectUnavailable(t, store)
	before := acknowledged.Load()
	testset.Must(t, instance.Restart(context.Background()))
	await("inserts after the restart", func() bool { return acknowledged.Load() > before+500 })
	close(ending)
	users.Wait()
	written.Range(func(n, _ any) bool {
		expect(t, store, "killed", key(n.(int)), fmt.Sprint(n), "")
		return !t.Failed()
	})
	t.Logf("%d inserts acknowledged, %d refused", acknowledged.Load(), refused.Load())
}

// expectUnavailable checks the error of a request to a server that is down.
func expectUnavailable(t *testing.T, store *Store) {
	t.Helper()
	begin := time.Now()
	if _, err := store.Get(within(t), "killed", key(0)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error of a killed server = %v, want %v", err, ErrUnavailable)
	}
	if took := time.Since(begin); took > answerWithin {
		t.Errorf("it took %v", took)
	}
}

// pause checks that a request to a paused server ends with its context, and the client works again
// after the pause.
func pause(t *testing.T, instance *servers.Instance) {
	store := created(t, openerOf(t, instance.URL(), "people"), "paused")
	testset.Must(t, instance.Pause())
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := store.Insert(ctx, "paused", key(1), []byte("a"), nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("error = %v after %v", err, time.Since(begin))
	}
	testset.Must(t, instance.Resume())
	testset.Must(t, store.Insert(within(t), "paused", key(2), []byte("b"), nil))
	expect(t, store, "paused", key(2), "b", "")
}

// TestCassandraMustKeepWhatItAcknowledges checks that Open refuses a server with periodic commitlog_sync,
// unless the address allows it.
func TestCassandraMustKeepWhatItAcknowledges(t *testing.T) {
	instance := servers.Started(t, server.Cassandra, server.Settings{Periodic: true})
	store, err := Open(within(t), instance.URL(), Options{Keyspace: "k"})
	testset.Must(t, err)
	testset.Must(t, store.Close())
	durable, _, _ := strings.Cut(instance.URL(), "?")
	if _, err := Open(within(t), durable, Options{Keyspace: "k"}); err == nil ||
		!strings.Contains(err.Error(), "set commitlog_sync: batch") {
		t.Errorf("error of a server that acknowledges early = %v", err)
	}
}

func TestOpenWithoutAServer(t *testing.T) {
	_, err := Open(within(t), "cassandra://user:secret@127.0.0.1:1", Options{Keyspace: "k"})
	if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "127.0.0.1:1: is Cassandra running") {
		t.Errorf("error = %v, want %v and no password", err, ErrUnavailable)
	}
}

// wrongPassword checks that Open fails, and its error does not contain the password.
func wrongPassword(t *testing.T, instance *servers.Instance) {
	_, password, _ := strings.Cut(strings.Split(instance.URL(), "@")[0], "cleave:")
	_, err := Open(within(t), strings.ReplaceAll(instance.URL(), password, "wrong-word"), Options{Keyspace: "k"})
	if err == nil || !strings.Contains(err.Error(), "password right?") ||
		strings.Contains(err.Error(), "wrong-word") {
		t.Errorf("error = %v", err)
	}
}

// TestRetryCanceled checks that a statement that the driver, not the caller, has canceled is retried, once
// more than there are connections.
func TestRetryCanceled(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	other := errors.New("other")
	for name, c := range map[string]struct {
		ctx     context.Context
		answers []error
		want    error
	}{
		"canceled once":  {t.Context(), []error{context.Canceled, nil}, nil},
		"canceled twice": {t.Context(), []error{context.Canceled, context.Canceled, nil}, nil},
		"canceled always": {t.Context(), []error{context.Canceled, context.Canceled, context.Canceled},
			ErrUnavailable},
		"by the caller":  {canceled, []error{context.Canceled}, context.Canceled},
		"something else": {t.Context(), []error{other}, other},
	} {
		asked := 0
		two := cassandra{connections: 2}
		err := cassandraFailure(two.retryCanceled(c.ctx, func() error { asked++; return c.answers[asked-1] }))
		if !errors.Is(err, c.want) || asked != len(c.answers) {
			t.Errorf("%s: %v after %d times, want %v after %d", name, err, asked, c.want, len(c.answers))
		}
	}
}
