package cache

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/cleave-lab/cleave/lab"
)

// Memory is the name, in studies, of a cache inside of the process that uses it.
const Memory = "memory"

// memoryBytes is the default size limit, which is also that of cache servers.
const memoryBytes = 64 << 20

// entryBytes is the approximate overhead of an entry, without key and value: its list element and its share
// of the map.
const entryBytes = 160

// memory is a cache in this process. If it is full, it removes the least recently used
// entries.
type memory struct {
	mu      sync.Mutex
	free    int64 // bytes that may still be used
	entries *simplelru.LRU[string, entry]
}

// entry is a value with its expiry.
type entry struct {
	value []byte
	until time.Time // when it expires; zero: never
}

// size returns the memory that an entry takes, in bytes, approximately.
func size(key string, e entry) int64 { return int64(len(key)+len(e.value)) + entryBytes }

func openMemory(u *url.URL) (m *memory, err error) {
	m = &memory{free: memoryBytes}
	if text := u.Query().Get("bytes"); text != "" {
		m.free, err = strconv.ParseInt(text, 10, 64)
		if err != nil || m.free < 0 {
			return nil, fmt.Errorf("bytes is %q: give the size limit of the cache in bytes", text)
		}
	}
	// The LRU could only limit the number of entries; set limits their bytes.
	m.entries, err = simplelru.NewLRU(math.MaxInt, func(key string, e entry) { m.free += size(key, e) })
	return m, err
}

func (m *memory) get(_ context.Context, keys []string) (map[string][]byte, error) {
	now := time.Now()
	values := make(map[string][]byte, len(keys))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		e, found := m.entries.Get(key)
		switch {
		case !found:
		case !e.until.IsZero() && !now.Before(e.until):
			m.entries.Remove(key)
		default:
			values[key] = slices.Clone(e.value)
		}
	}
	return values, nil
}

func (m *memory) set(_ context.Context, key string, value []byte, seconds int) error {
	e := entry{value: append([]byte{}, value...)}
	if seconds > 0 {
		e.until = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(key)
	m.entries.Add(key, e)
	for m.free -= size(key, e); m.free < 0; {
		m.entries.RemoveOldest()
	}
	return nil
}

func (m *memory) remove(_ context.Context, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		m.entries.Remove(key)
	}
	return nil
}

func (m *memory) close() error { return nil }

// Embedded returns the backing of caches inside of units. Each unit has its own cache
// and does not see changes by other units. So it is only for data that a single unit reads
// and changes.
func Embedded() lab.Backing {
	service := lab.Service{
		Address: func(string) string { return fmt.Sprintf("%s://?bytes=%d", Memory, memoryBytes) },
		About:   func() string { return fmt.Sprintf("a cache of %d MiB in each unit, embedded", memoryBytes>>20) },
	}
	return lab.Backing{Kind: Memory,
		Fresh: func(context.Context, lab.ServiceSpec, string) (lab.Service, error) { return service, nil },
		Permanent: "the cache is part of the units that use it and has no process of its own: kill these " +
			"units, or choose redis or memcached"}
}
