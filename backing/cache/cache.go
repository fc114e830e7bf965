// Package cache is the client of a cache: values by key, in Redis, in memcached or in the
// process itself, with the same semantics in all of them.
//
// A value may be gone at any time: a cache evicts the least recently used values when its
// memory is full, and loses everything when it ends. It never returns a value that was
// deleted, replaced or has expired. Callers keep the data elsewhere and go on without a
// cache that does not answer.
//
// It starts no server (backing/server does).
//
// Entry points: Open, Cache; Embedded for studies.
package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// The limits of arguments.
const (
	MaxKey    = 250     // bytes
	MaxValue  = 1 << 20 // bytes
	MaxExpiry = 30 * 24 * time.Hour
)

// The errors of a Cache, for errors.Is, in addition to those of contexts.
var (
	// ErrKey means that a key is empty, too long, or has other bytes than visible ASCII.
	ErrKey = fmt.Errorf("a key has 1 to %d visible characters of ASCII, and no space", MaxKey)
	// ErrTooLarge means that a value has more than MaxValue bytes.
	ErrTooLarge = fmt.Errorf("the value has more than %d bytes", MaxValue)
	// ErrUnavailable means that the cache did not answer in time. The request may have been
	// carried out.
	ErrUnavailable = errors.New("the cache does not answer")
)

// Options configures a client.
type Options struct {
	// Connections is the maximum number of concurrent requests, each on a connection of its
	// own; 0 means 32. Further calls wait for their turn, or the end of their context.
	Connections int
	// Timeout bounds one request; 0 means a second.
	Timeout time.Duration
}

// Cache is a client. It is safe for concurrent use.
type Cache struct {
	driver       driver
	slots        chan struct{} // a semaphore with an entry per running request
	hits, misses atomic.Int64
}

// driver is one kind of cache. Its caller has checked all arguments.
type driver interface {
	// get returns the values that exist; the caller may change them.
	get(ctx context.Context, keys []string) (map[string][]byte, error)
	// set stores a copy of the value for that many seconds; 0: until it is evicted.
	set(ctx context.Context, key string, value []byte, seconds int) error
	remove(ctx context.Context, keys []string) error
	close() error
}

// Open returns a client and checks that the cache answers. The address holds a password:
// keep it out of arguments and messages.
//
//	memory://?bytes=67108864              in this process, which shares it with no other
//	redis://user:password@host:port
//	memcached://user:password@host:port
func Open(ctx context.Context, address string, options Options) (*Cache, error) {
	options.Connections = cmp.Or(options.Connections, 32)
	options.Timeout = cmp.Or(options.Timeout, time.Second)
	if options.Connections < 0 || options.Timeout < 0 {
		return nil, fmt.Errorf("open cache: %d connections and a timeout of %v: give 0 for the default, or more",
			options.Connections, options.Timeout)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("open cache: its address is not a URL") // err contains the password
	}
	c := &Cache{slots: make(chan struct{}, options.Connections)}
	switch {
	case u.Scheme == Memory && u.Host == "":
		c.driver, err = openMemory(u)
	case u.Scheme == "redis" && u.Host != "":
		c.driver = openRedis(u, options)
	case u.Scheme == "memcached" && u.Host != "":
		c.driver = openMemcached(u, options)
	default:
		err = errors.New("use memory://, redis://user:password@host:port or memcached://user:password@host:port")
	}
	if err != nil {
		return nil, fmt.Errorf("open cache %s: %w", u.Redacted(), err)
	}
	if _, err := c.driver.get(ctx, []string{"cleave"}); err != nil {
		err = fmt.Errorf("open cache %s: %w", u.Redacted(), err)
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the connections. No method may be running.
func (c *Cache) Close() error { return c.driver.close() }

// Get returns a value; found is false if there is none. The caller may change it.
func (c *Cache) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	values, err := c.GetMany(ctx, key)
	value, found = values[key]
	return value, found, err
}

// GetMany returns the values that exist, by key, with one request.
func (c *Cache) GetMany(ctx context.Context, keys ...string) (values map[string][]byte, err error) {
	if len(keys) == 0 {
		return map[string][]byte{}, nil
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	err = c.request(ctx, keys, func() (err error) {
		values, err = c.driver.get(ctx, keys)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("get %s from the cache: %w", quoteKeys(keys), err)
	}
	c.hits.Add(int64(len(values)))
	c.misses.Add(int64(len(keys) - len(values)))
	return values, nil
}

// Set stores a value, in the place of an earlier one. It expires after the given time,
// rounded up to seconds; 0 means never, but it may be evicted.
func (c *Cache) Set(ctx context.Context, key string, value []byte, expiry time.Duration) error {
	if len(value) > MaxValue {
		return fmt.Errorf("set %s in the cache: %d bytes: %w", quoteKeys([]string{key}), len(value), ErrTooLarge)
	}
	if expiry < 0 || expiry > MaxExpiry {
		return fmt.Errorf("set %s in the cache: it cannot be kept for %v: give 0 to %v", quoteKeys([]string{key}),
			expiry, MaxExpiry)
	}
	seconds := int((expiry + time.Second - 1) / time.Second)
	err := c.request(ctx, []string{key}, func() error { return c.driver.set(ctx, key, value, seconds) })
	if err != nil {
		return fmt.Errorf("set %s in the cache: %w", quoteKeys([]string{key}), err)
	}
	return nil
}

// Delete removes the values that exist.
func (c *Cache) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	if err := c.request(ctx, keys, func() error { return c.driver.remove(ctx, keys) }); err != nil {
		return fmt.Errorf("delete %s from the cache: %w", quoteKeys(keys), err)
	}
	return nil
}

// Found returns the number of requested keys that had a value, and of those that had none.
func (c *Cache) Found() (hits, misses int64) { return c.hits.Load(), c.misses.Load() }

// request checks the keys and calls work when fewer than Connections requests are running.
func (c *Cache) request(ctx context.Context, keys []string, work func() error) error {
	for _, key := range keys {
		hasOthers := slices.ContainsFunc([]byte(key), func(b byte) bool { return b <= ' ' || b > '~' })
		if len(key) == 0 || len(key) > MaxKey || hasOthers {
			return fmt.Errorf("key %s: %w", quoteKeys([]string{key}), ErrKey)
		}
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting behind %d open requests: %w", cap(c.slots), ctx.Err())
	}
	defer func() { <-c.slots }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return work()
}

// quoteKeys returns keys for a message: the first one, quoted and shortened, and the number of others.
func quoteKeys(keys []string) string {
	first := keys[0]
	if len(first) > 60 {
		first = first[:60] + "..."
	}
	if len(keys) == 1 {
		return strconv.QuoteToASCII(first)
	}
	return fmt.Sprintf("%q and %d more", first, len(keys)-1)
}
