package fleet

import (
	"context"
	"sync"
)

// Changes guards what a platform has last reported, for goroutines that wait for a change of it. Types that
// hold that state embed it. The zero value is ready.
type Changes struct {
	mu      sync.Mutex
	changed chan struct{} // closed with the next change; nil: nobody waits for it
}

// Update calls change, which changes the state, and wakes those who wait.
func (c *Changes) Update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Look calls read, which reads the state.
func (c *Changes) Look(read func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read()
}

// Await calls enough, which reads the state, at once and after every change, until it returns true or an
// error, and returns that error. It fails with the cause of ctx if that ends before.
func (c *Changes) Await(ctx context.Context, enough func() (done bool, err error)) error {
	for {
		c.mu.Lock()
		done, err := enough()
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}
