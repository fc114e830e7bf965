package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

func opened(t *testing.T, address string, options cache.Options) *cache.Cache {
	t.Helper()
	client, err := cache.Open(t.Context(), address, options)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, client.Close()) })
	return client
}

// got reads keys and returns the values found, as key=value.
func got(t *testing.T, client *cache.Cache, keys ...string) string {
	t.Helper()
	values, err := client.GetMany(t.Context(), keys...)
	testset.Must(t, err)
	var found []string
	for _, key := range keys {
		if value, ok := values[key]; ok {
			found = append(found, key+"="+string(value))
		}
	}
	return strings.Join(found, " ")
}

// memoryFor returns the address of a cache in this process with room for this many bytes.
func memoryFor(bytes int) string { return fmt.Sprintf("memory://?bytes=%d", bytes) }

func TestMemory(t *testing.T) { contract(t, memoryFor(8<<20)) }

func TestServers(t *testing.T) {
	for _, kind := range []server.Kind{server.Redis, server.Memcached} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			instance := servers.Started(t, kind, server.Settings{Memory: 8 << 20})
			contract(t, instance.URL())
			t.Run("the client works again after a restart", func(t *testing.T) { restart(t, instance) })
			t.Run("a paused server is not waited for", func(t *testing.T) { paused(t, instance) })
			t.Run("a wrong password is refused", func(t *testing.T) { wrongPassword(t, instance) })
		})
	}
}

// contract tests the promises of every kind of cache.
func contract(t *testing.T, address string) {
	for name, test := range map[string]func(*testing.T, *cache.Cache){
		"what was set is got":              setAndGot,
		"values are the caller's own":      callersOwn,
		"what has expired is gone":         expires,
		"memory is bounded":                bounded,
		"hostile keys are refused":         hostileKeys,
		"500 callers share a few requests": manyCallers,
		"a canceled call is an error":      canceled,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, opened(t, address, cache.Options{Connections: 4, Timeout: 10 * time.Second}))
		})
	}
}

func setAndGot(t *testing.T, client *cache.Cache) {
	ctx := t.Context()
	if found := got(t, client, "a", "b"); found != "" {
		t.Fatalf("a fresh cache has %s", found)
	}
	binary := string([]byte{0, '\r', '\n', 255, 'E', 'N', 'D', '\r', '\n'})
	testset.Must(t, client.Set(ctx, "a", []byte("one"), 0))
	testset.Must(t, client.Set(ctx, "b", []byte(binary), time.Hour))
	testset.Must(t, client.Set(ctx, "empty", nil, 0))
	if found, want := got(t, client, "a", "none", "b", "empty", "a"),
		"a=one b="+binary+" empty= a=one"; found != want {
		t.Errorf("got %q, want %q", found, want)
	}
	testset.Must(t, client.Set(ctx, "a", []byte("two"), 0))
	testset.Must(t, client.Delete(ctx, "b", "none", "empty"))
	if found := got(t, client, "a", "b", "empty"); found != "a=two" {
		t.Errorf("after a change and a removal: %q", found)
	}
	value, found, err := client.Get(ctx, "a")
	if string(value) != "two" || !found || err != nil {
		t.Errorf("Get: %q, %v, %v", value, found, err)
	}
	if _, found, err := client.Get(ctx, "b"); found || err != nil {
		t.Errorf("Get of what is not there: %v, %v", found, err)
	}
	// A call counts a repeated key once.
	if hits, misses := client.Found(); hits != 5 || misses != 6 {
		t.Errorf("%d hits and %d misses, want 5 and 6", hits, misses)
	}
	testset.Must(t, client.Delete(ctx))
	if values, err := client.GetMany(ctx); len(values) != 0 || err != nil {
		t.Errorf("no keys: %v, %v", values, err)
	}
}

// callersOwn checks that changing a value after Set or Get does not change the cache.
func callersOwn(t *testing.T, client *cache.Cache) {
	mine := []byte("mine")
	testset.Must(t, client.Set(t.Context(), "own", mine, 0))
	mine[0] = 'X'
	values, err := client.GetMany(t.Context(), "own")
	testset.Must(t, err)
	values["own"][1] = 'X'
	if found := got(t, client, "own"); found != "own=mine" {
		t.Errorf("got %s", found)
	}
}

// expires checks that values expire; times are rounded up to whole seconds.
func expires(t *testing.T, client *cache.Cache) {
	ctx := t.Context()
	testset.Must(t, client.Set(ctx, "long", []byte("x"), cache.MaxExpiry))
	testset.Must(t, client.Set(ctx, "short", []byte("x"), 10*time.Millisecond))
	end := time.Now().Add(20 * time.Second)
	for ; got(t, client, "long", "short") != "long=x"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a value with an expiry of a second is there after twenty")
		}
	}
	for _, expiry := range []time.Duration{-1, cache.MaxExpiry + 1} {
		if err := client.Set(ctx, "long", nil, expiry); err == nil ||
			!strings.Contains(err.Error(), "cannot be kept for") {
			t.Errorf("%v: %v", expiry, err)
		}
	}
}

// bounded writes 32 MiB into a cache of 8 MiB. It keeps no more than that, with the last value among them.
func bounded(t *testing.T, client *cache.Cache) {
	ctx := t.Context()
	value := bytes.Repeat([]byte("v"), 64<<10)
	var keys []string
	for n := range 512 {
		keys = append(keys, fmt.Sprintf("large-%d", n))
		testset.Must(t, client.Set(ctx, keys[n], value, 0))
	}
	values, err := client.GetMany(ctx, keys...)
	testset.Must(t, err)
	if len(values) < 8 || len(values) > 128 || values[keys[511]] == nil {
		t.Errorf("%d of 512 values of 64 KiB are kept in 8 MiB, the last one: %v", len(values),
			values[keys[511]] != nil)
	}
	testset.Must(t, client.Set(ctx, "largest", make([]byte, cache.MaxValue), 0))
	largest, found, err := client.Get(ctx, "largest")
	if len(largest) != cache.MaxValue || !found || err != nil {
		t.Errorf("the largest value has %d bytes, %v, %v", len(largest), found, err)
	}
	if err := client.Set(ctx, "largest", make([]byte, cache.MaxValue+1), 0); !errors.Is(err, cache.ErrTooLarge) {
		t.Errorf("a larger one: %v", err)
	}
}

func hostileKeys(t *testing.T, client *cache.Cache) {
	ctx := t.Context()
	for _, key := range []string{"", " ", "a b", "a\r\nflush_all\r\n", "a\x00", "ä", "\x7f",
		strings.Repeat("k", cache.MaxKey+1)} {
		_, _, get := client.Get(ctx, key)
		for call, err := range map[string]error{
			"get": get, "set": client.Set(ctx, key, nil, 0), "delete": client.Delete(ctx, "good", key),
		} {
			if !errors.Is(err, cache.ErrKey) || strings.ContainsAny(err.Error(), "\r\n\x00") ||
				len(err.Error()) > 300 {
				t.Errorf("%s of %q: %v", call, key, err)
			}
		}
	}
	longest := strings.Repeat("~", cache.MaxKey)
	testset.Must(t, client.Set(ctx, longest, []byte("x"), 0))
	if found := got(t, client, longest); found != longest+"=x" {
		t.Errorf("the longest key: %q", found)
	}
}

func manyCallers(t *testing.T, client *cache.Cache) {
	var callers sync.WaitGroup
	for n := range 500 {
		callers.Go(func() {
			key := fmt.Sprintf("caller-%d", n)
			for round := range 4 {
				value := fmt.Sprintf("%d", round)
				if err := client.Set(t.Context(), key, []byte(value), 0); err != nil {
					t.Error(err)
					return
				}
				if read, found, err := client.Get(t.Context(), key); err != nil || found && string(read) != value {
					t.Errorf("%s: %q, %v", key, read, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

func canceled(t *testing.T, client *cache.Cache) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Set(ctx, "a", nil, 0); !errors.Is(err, context.Canceled) ||
		errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("set with a canceled context: %v", err)
	}
}

// restart checks that the client works again after a restart of the server, which is then empty.
func restart(t *testing.T, instance *servers.Instance) {
	client := opened(t, instance.URL(), cache.Options{Connections: 4})
	testset.Must(t, client.Set(t.Context(), "before", []byte("x"), 0))
	manyCallers(t, client) // opens all connections
	testset.Must(t, instance.Kill())
	if _, _, err := client.Get(t.Context(), "before"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("get from a killed server: %v", err)
	}
	testset.Must(t, instance.Restart(t.Context()))
	if found := got(t, client, "before"); found != "" {
		t.Errorf("the restarted server has %s", found)
	}
}

func paused(t *testing.T, instance *servers.Instance) {
	client := opened(t, instance.URL(), cache.Options{Timeout: 300 * time.Millisecond})
	testset.Must(t, instance.Pause())
	begin := time.Now()
	if err := client.Set(t.Context(), "a", nil, 0); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("set: %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v to give up", took)
	}
	testset.Must(t, instance.Resume())
	testset.Must(t, client.Set(t.Context(), "a", []byte("x"), 0))
}

func wrongPassword(t *testing.T, instance *servers.Instance) {
	at := strings.SplitAfter(instance.URL(), "@")[1]
	for _, login := range []string{"cleave:wrong@", "other:wrong@", ""} {
		address := string(instance.Kind) + "://" + login + at
		_, err := cache.Open(t.Context(), address, cache.Options{})
		if err == nil || login != "" && strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestMemoryEvictsTheLeastRecentlyUsed checks that a full cache evicts the least recently used values, and
// expired ones make room.
func TestMemoryEvictsTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		client := opened(t, memoryFor(3000), cache.Options{})
		set := func(key string, expiry time.Duration) {
			testset.Must(t, client.Set(ctx, key, make([]byte, 800), expiry)) // there is room for three
		}
		set("a", 0)
		set("b", 0)
		set("c", time.Minute)
		got(t, client, "a")
		set("d", 0)
		if _, found, _ := client.Get(ctx, "b"); found {
			t.Error("b was not used for the longest time and is there")
		}
		time.Sleep(time.Minute - 1)
		if _, found, _ := client.Get(ctx, "c"); !found {
			t.Error("c is gone before its time")
		}
		time.Sleep(time.Nanosecond)
		if _, found, _ := client.Get(ctx, "c"); found {
			t.Error("c is there after its time")
		}
		set("e", 0)
		for _, key := range []string{"a", "d", "e"} {
			if _, found, _ := client.Get(ctx, key); !found {
				t.Errorf("%s was evicted although there was room", key)
			}
		}
		testset.Must(t, client.Set(ctx, "a", make([]byte, 3000), 0))
		for _, key := range []string{"a", "d", "e"} {
			if _, found, _ := client.Get(ctx, key); found {
				t.Errorf("%s is kept although the new value needs more than all room", key)
			}
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"http://user:secret@host":   "http://user:xxxxx@host: use memory://, redis://",
		"memory://?bytes=many":      `bytes is "many"`,
		"redis://user:secret@%zz":   "its address is not a URL",
		"redis://u:secret@[::1]:1":  "the cache does not answer",
		"memcached://127.0.0.1:1":   "the cache does not answer",
		"memory://elsewhere?bytes=": "use memory://",
	} {
		_, err := cache.Open(t.Context(), address, cache.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := cache.Open(t.Context(), "memory://", cache.Options{Connections: -1}); err == nil {
		t.Error("-1 connections are accepted")
	}
}

// TestEmbedded checks that a study gets a cache whose address can be opened.
func TestEmbedded(t *testing.T) {
	service, err := cache.Embedded().Fresh(t.Context(), lab.ServiceSpec{Name: "cache"}, "")
	testset.Must(t, err)
	client := opened(t, service.Address(""), cache.Options{})
	testset.Must(t, client.Set(t.Context(), "a", []byte("x"), 0))
}
