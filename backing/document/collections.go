package document

import (
	"fmt"
	"sync"
)

// collections are those that were declared.
type collections struct {
	mu    sync.RWMutex
	named map[string]Collection
}

func (c *collections) add(collection Collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.named == nil {
		c.named = map[string]Collection{}
	}
	c.named[collection.Name] = collection
}

// find returns a collection that was declared.
func (c *collections) find(name string) (Collection, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	collection, ok := c.named[name]
	if !ok {
		return collection, fmt.Errorf("collection %q was not declared", name)
	}
	return collection, nil
}
