package timelines

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/cleave-lab/cleave/systems/social"
)

const (
	// cachedTimelines is the number of timelines that a cache holds: the ones read or changed last.
	cachedTimelines = 4096
	// stripes is the number of change counters of a cache. Each counts for many users.
	stripes = 1024
)

// Cache holds the newest ids of timelines in this process, at most social.MaxPage each. A cache is correct
// only in the single process that writes the store.
type Cache struct {
	mu    sync.Mutex
	lists *simplelru.LRU[string, []string] // by owner; ids in rising order
	// changes counts the calls of add and forget for the users of each stripe: ids that were read from the
	// store before a change must not be cached after it.
	changes [stripes]uint64
	seed    maphash.Seed
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	lists, err := simplelru.NewLRU[string, []string](cachedTimelines, nil)
	if err != nil {
		panic(err) // the size is above 0
	}
	return &Cache{lists: lists, seed: maphash.MakeSeed()}
}

// latest returns up to limit ids of a user's timeline, the newest first; limit is at most social.MaxPage. If
// the timeline is not cached, load reads up to social.MaxPage ids from the store, in the same order.
func (c *Cache) latest(user string, limit int, load func() ([]string, error)) ([]string, error) {
	c.mu.Lock()
	if list, found := c.lists.Get(user); found {
		newest := slices.Clone(list[max(len(list)-limit, 0):])
		c.mu.Unlock()
		slices.Reverse(newest)
		return newest, nil
	}
	before := *c.changesOf(user)
	c.mu.Unlock()
	ids, err := load()
	if err != nil {
		return nil, err
	}
	list := slices.Clone(ids)
	slices.Reverse(list)
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.changesOf(user) == before {
		c.lists.Add(user, list)
	}
	return ids[:min(len(ids), limit)], nil
}

// add enters a post into the cached timelines of users. The store must have the entries already.
func (c *Cache) add(post string, users ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, user := range users {
		*c.changesOf(user)++
		list, found := c.lists.Peek(user)
		if !found {
			continue
		}
		at, found := slices.BinarySearch(list, post)
		if found {
			continue
		}
		list = slices.Insert(list, at, post)
		c.lists.Add(user, list[max(len(list)-social.MaxPage, 0):])
	}
}

// forget drops the timelines of users after a write to the store failed: the entry may be stored or not.
func (c *Cache) forget(users ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, user := range users {
		*c.changesOf(user)++
		c.lists.Remove(user)
	}
}

// changesOf returns the change counter of a user's stripe. The caller holds mu.
func (c *Cache) changesOf(user string) *uint64 {
	return &c.changes[maphash.String(c.seed, user)%stripes]
}
