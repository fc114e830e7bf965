package wide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// opener opens a store. All calls of an opener open the same keyspace, which no other opener uses.
type opener func(options Options) *Store

// openerOf returns an opener of a keyspace of the store at an address. Stores are closed when the test ends.
func openerOf(t testing.TB, address, keyspace string) opener {
	return func(options Options) *Store {
		t.Helper()
		options.Keyspace = keyspace
		store, err := Open(within(t), address, options)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, store.Close()) })
		return store
	}
}

// within returns a context for one call or test, which ends after two minutes.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestSQLite(t *testing.T) {
	contract(t, openerOf(t, "sqlite://"+filepath.ToSlash(t.TempDir()), "people"))
}

// contract tests the promises of every kind of store.
func contract(t *testing.T, open opener) {
	promises := []struct {
		name string
		test func(t *testing.T, open opener)
	}{
		{"a record is read as it was written", readAsWritten},
		{"a later record replaces an earlier one", laterReplaces},
		{"all records are visited once", eachVisitsAll},
		{"tables are separate, and creating them again changes nothing", tablesAreSeparate},
		{"what is written outlives its client", outlivesClient},
		{"the largest record is kept, a larger one refused", oversize},
		{"1000 users share eight open requests", manyUsers},
		{"a call that waits ends with its context", waitingEnds},
		{"mistakes are named", mistakesAreNamed},
	}
	for _, promise := range promises {
		t.Run(promise.name, func(t *testing.T) { promise.test(t, open) })
	}
}

// table returns a table for one test.
func table(name string) Table { return Table{Name: name, Columns: []string{"name", "order"}} }

// created opens a store with one table.
func created(t *testing.T, open opener, name string) *Store {
	t.Helper()
	store := open(Options{})
	testset.Must(t, store.CreateTables(within(t), table(name)))
	return store
}

func key(n int) (key [16]byte) {
	copy(key[:], fmt.Sprintf("%016d", n))
	return key
}

func expect(t *testing.T, store *Store, table string, key [16]byte, want ...string) {
	t.Helper()
	got, err := store.Get(within(t), table, key)
	testset.Must(t, err)
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for n := range got {
		if got[n] == nil || string(got[n]) != want[n] {
			t.Errorf("value %d = %.40q, want %.40q", n, got[n], want[n])
		}
	}
}

func readAsWritten(t *testing.T, open opener) {
	store := created(t, open, "read")
	all := make([]byte, 256)
	for n := range all {
		all[n] = byte(n)
	}
	testset.Must(t, store.Insert(within(t), "read", [16]byte{}, all, []byte("é'\"")))
	testset.Must(t, store.Insert(within(t), "read", key(1), nil, []byte{}))
	expect(t, store, "read", [16]byte{}, string(all), "é'\"")
	expect(t, store, "read", key(1), "", "")
	if _, err := store.Get(within(t), "read", key(2)); !errors.Is(err, ErrNotFound) ||
		errors.Is(err, ErrUnavailable) {
		t.Errorf("error of an unknown key = %v, want %v", err, ErrNotFound)
	}
}

func laterReplaces(t *testing.T, open opener) {
	store := created(t, open, "later")
	for _, name := range []string{"a", "b", "b"} {
		testset.Must(t, store.Insert(within(t), "later", key(1), []byte(name), []byte("1")))
	}
	expect(t, store, "later", key(1), "b", "1")
	expectCount(t, store, "later", 1)
}

func expectCount(t *testing.T, store *Store, table string, want int64) {
	t.Helper()
	got := int64(0)
	err := store.Each(within(t), table, func([16]byte, [][]byte) error { got++; return nil })
	if err != nil || got != want {
		t.Errorf("count = %d (%v), want %d", got, err, want)
	}
}

// eachVisitsAll reads three pages in a store that allows one request at a time. The visitor itself makes
// requests: Each must not hold the only slot then.
func eachVisitsAll(t *testing.T, open opener) {
	const n = 2*pageSize + 7
	store := open(Options{InFlight: 1})
	testset.Must(t, store.CreateTables(within(t), table("many")))
	for i := range n {
		testset.Must(t, store.Insert(within(t), "many", key(i), []byte(fmt.Sprint(i)), []byte("x")))
	}
	seen := map[[16]byte]bool{}
	testset.Must(t, store.Each(within(t), "many", func(k [16]byte, values [][]byte) error {
		var i int
		_, err := fmt.Sscan(string(values[0]), &i)
		if seen[k] || k != key(i) || string(values[1]) != "x" {
			t.Errorf("key %s, seen before: %v, values %q", k, seen[k], values)
		}
		seen[k] = true
		if len(seen)%100 == 0 {
			expect(t, store, "many", k, fmt.Sprint(i), "x")
		}
		return err
	}))
	if len(seen) != n {
		t.Errorf("%d records visited, want %d", len(seen), n)
	}
	expectCount(t, store, "many", n)
	enough := errors.New("enough")
	if err := store.Each(within(t), "many", func([16]byte, [][]byte) error { return enough }); !errors.Is(err,
		enough) {
		t.Errorf("error = %v, want the visitor's", err)
	}
}

func tablesAreSeparate(t *testing.T, open opener) {
	store := created(t, open, "one")
	testset.Must(t, store.Insert(within(t), "one", key(1), []byte("a"), nil))
	testset.Must(t, store.CreateTables(within(t), table("one"), Table{"select", []string{"from"}}))
	testset.Must(t, store.Insert(within(t), "select", key(1), []byte("b")))
	expect(t, store, "one", key(1), "a", "")
	expect(t, store, "select", key(1), "b")
	testset.Must(t, created(t, open, "empty").Each(within(t), "empty", func([16]byte, [][]byte) error {
		return errors.New("there should be nothing")
	}))
}

func outlivesClient(t *testing.T, open opener) {
	testset.Must(t, created(t, open, "kept").Insert(within(t), "kept", key(1), []byte("a"), []byte("b")))
	expect(t, created(t, open, "kept"), "kept", key(1), "a", "b")
}

func oversize(t *testing.T, open opener) {
	store := created(t, open, "large")
	large := bytes.Repeat([]byte("large"), MaxRecord/10)
	testset.Must(t, store.Insert(within(t), "large", key(1), large, large))
	expect(t, store, "large", key(1), string(large), string(large))
	err := store.Insert(within(t), "large", key(2), make([]byte, MaxRecord), []byte("x"))
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error = %v, want %v", err, ErrTooLarge)
	}
	expectCount(t, store, "large", 1)
}

// manyUsers checks that no more than InFlight requests run in the driver at once.
func manyUsers(t *testing.T, open opener) {
	store := open(Options{InFlight: 8})
	testset.Must(t, store.CreateTables(within(t), table("users")))
	counting := &countingDriver{driver: store.driver}
	store.driver = counting
	var users sync.WaitGroup
	for user := range 1000 {
		users.Go(func() {
			if err := store.Insert(within(t), "users", key(user), []byte("u"), nil); err != nil {
				t.Error(err)
			}
			if _, err := store.Get(within(t), "users", key(user)); err != nil {
				t.Error(err)
			}
		})
	}
	users.Wait()
	if most := counting.most.Load(); most < 2 || most > 8 {
		t.Errorf("up to %d requests were open, want 2 to 8", most)
	}
	expectCount(t, store, "users", 1000)
}

// countingDriver records the maximum number of concurrent inserts, and delays them if the
// test asks for it.
type countingDriver struct {
	driver
	now, most atomic.Int64
	hold      chan struct{}
}

func (c *countingDriver) insert(ctx context.Context, table *statements, key [16]byte, values [][]byte) error {
	for now := c.now.Add(1); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			break
		}
	}
	defer c.now.Add(-1)
	if c.hold != nil {
		<-c.hold
	}
	return c.driver.insert(ctx, table, key, values)
}

func waitingEnds(t *testing.T, open opener) {
	store := open(Options{InFlight: 1})
	testset.Must(t, store.CreateTables(within(t), table("waiting")))
	holding := &countingDriver{driver: store.driver, hold: make(chan struct{})}
	store.driver = holding
	first := make(chan error)
	go func() { first <- store.Insert(within(t), "waiting", key(1), nil, nil) }()
	for holding.now.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := store.Insert(ctx, "waiting", key(2), nil, nil)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting behind 1 open requests") {
		t.Errorf("error = %v", err)
	}
	close(holding.hold)
	testset.Must(t, <-first)
	expectCount(t, store, "waiting", 1)
}

func mistakesAreNamed(t *testing.T, open opener) {
	store := created(t, open, "mistakes")
	ctx := within(t)
	_, unknown := store.Get(ctx, "none", key(1))
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"unknown table":   {unknown, `table "none" was not given to CreateTables`},
		"too few values":  {store.Insert(ctx, "mistakes", key(1), nil), "1 values for 2 columns"},
		"table's name":    {store.CreateTables(ctx, Table{"a;b", []string{"x"}}), `table "a;b": a name has`},
		"column's name":   {store.CreateTables(ctx, Table{"a", []string{"x", `y"`}}), `column "y\"": a name has`},
		"without columns": {store.CreateTables(ctx, Table{"a", nil}), "no columns"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", name, c.err, c.want)
		}
	}
}

func TestOpenNamesMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		options Options
		want    string
	}{
		"unknown scheme": {"redis://user:secret@h:1", Options{Keyspace: "k"}, "redis://user:xxxxx@h:1"},
		"no URL":         {"cassandra://user:secret@h:x", Options{Keyspace: "k"}, "its address is not a URL"},
		"keyspace":       {"sqlite:///tmp", Options{Keyspace: "../k"}, `keyspace "../k"`},
		"no port":        {"cassandra://u:secret@127.0.0.1", Options{Keyspace: "k"}, "the address has no port"},
		"no connections": {"sqlite:///tmp", Options{Keyspace: "k", Connections: -1}, "-1 connections"},
		"no folder": {"sqlite:///dev/null/x", Options{Keyspace: "k"},
			"open keyspace k of sqlite:///dev/null/x"},
	} {
		_, err := Open(within(t), c.address, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
	}
}
