package timelines

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/social"
)

// owned is the user whose timeline the tests write and read.
const owned = "7"

func idOf(n int) string { return fmt.Sprintf("%016x", n) }

// newestOf returns the ids of posts from one number down to another.
func newestOf(from, to int) (ids []string) {
	for n := from; n >= to; n-- {
		ids = append(ids, idOf(n))
	}
	return ids
}

// open returns entries in a store of their own, with an empty cache.
func open(t *testing.T) entries {
	t.Helper()
	store, err := document.Open(t.Context(), "sqlite://"+t.TempDir(), "timelines")
	testset.Must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	testset.Must(t, store.Declare(t.Context(), UserCollection))
	return entries{store, UserCollection.Name, NewCache()}
}

// wants fails the test unless the newest posts are want.
func (e entries) wants(t *testing.T, step string, limit int, want []string) {
	t.Helper()
	if got, err := e.latest(t.Context(), owned, "", limit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v (%v), want %v", step, got, err, want)
	}
}

// enters adds posts one by one.
func (e entries) enters(t *testing.T, posts ...int) {
	t.Helper()
	for _, n := range posts {
		testset.Must(t, e.enter(t.Context(), idOf(n), owned))
	}
}

// TestACachedTimelineIsTheStoredOne: the first read loads the cache; later reads are answered from it, with
// the posts added since, until the timeline is forgotten.
func TestACachedTimelineIsTheStoredOne(t *testing.T) {
	e := open(t)
	e.enters(t, 1, 2, 4)
	e.wants(t, "from the store", 2, []string{idOf(4), idOf(2)})
	e.enters(t, 5, 3, 3) // out of order, and a repetition
	e.wants(t, "added", 4, newestOf(5, 2))
	uncached := entries{e.store, e.collection, nil}
	uncached.enters(t, 6) // the store has it, the cache does not
	e.wants(t, "from the cache", 1, newestOf(5, 5))
	e.cache.forget(owned)
	e.wants(t, "from the store, once forgotten", 1, newestOf(6, 6))
	if got, err := e.latest(t.Context(), owned, idOf(3), 9); err != nil || !slices.Equal(got, newestOf(2, 1)) {
		t.Errorf("before post 3: %v (%v)", got, err)
	}
}

// TestACachedTimelineIsBounded: it keeps no more ids than one read may ask for.
func TestACachedTimelineIsBounded(t *testing.T) {
	c := NewCache()
	load := func() ([]string, error) { return newestOf(social.MaxPage, 1), nil }
	if _, err := c.latest(owned, 1, load); err != nil {
		t.Fatal(err)
	}
	c.add(idOf(social.MaxPage+1), owned)
	c.add(idOf(1), owned) // it is older than all that are kept
	// The timeline is cached: no load is needed.
	got, err := c.latest(owned, social.MaxPage, nil)
	if err != nil || !slices.Equal(got, newestOf(social.MaxPage+1, 2)) {
		t.Errorf("%d ids from %s to %s (%v)", len(got), got[0], got[len(got)-1], err)
	}
	if list, _ := c.lists.Peek(owned); len(list) != social.MaxPage {
		t.Errorf("%d ids are kept", len(list))
	}
}

// TestChangesDuringALoadAreNotLost: a post is added while the cache loads a timeline. The ids that were
// loaded may lack the post, so they must not be cached. The same holds if it is unknown whether the post was
// stored: then its timelines are forgotten.
func TestChangesDuringALoadAreNotLost(t *testing.T) {
	for name, change := range map[string]func(*Cache){
		"added":   func(c *Cache) { c.add(idOf(2), owned) },
		"unknown": func(c *Cache) { c.forget(owned) },
	} {
		c := NewCache()
		_, err := c.latest(owned, 9, func() ([]string, error) {
			change(c)
			return newestOf(1, 1), nil
		})
		testset.Must(t, err)
		got, err := c.latest(owned, 9, func() ([]string, error) { return newestOf(2, 1), nil })
		if err != nil || !slices.Equal(got, newestOf(2, 1)) {
			t.Errorf("%s: then %v are read (%v)", name, got, err)
		}
	}
}
