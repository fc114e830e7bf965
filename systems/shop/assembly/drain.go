package assembly

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

const (
	// drainPatience is how long a unit waits for what is on its way. What is not
	// done then is left, and the audit finds it.
	drainPatience = 60 * time.Second
	drainInterval = 20 * time.Millisecond
)

// stage says in which order units drain: what takes orders, what these change,
// what only looks on. Nothing flows back.
type stage int

const (
	front stage = iota
	middle
	views
)

// stageOf is that of a kind of unit.
func stageOf(kind architecture.Unit) stage {
	switch {
	case slices.Contains(kind.Components, shop.ComponentOrders):
		return front
	case slices.ContainsFunc(kind.Components, func(c string) bool { return slices.Contains(shop.Components(), c) }):
		return middle
	}
	return views
}

// until is a context that ends with ctx, or when the job is done and after has
// returned.
func (u *unit) until(ctx context.Context, after func(context.Context)) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-u.place.Stop:
			after(limited)
			cancel()
		case <-limited.Done():
		}
	}()
	return limited, cancel
}

// drain waits until the work of the unit is done and says so to those who come
// after: at the front until every order is final, then until no event is on its way.
func (u *unit) drain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	left := u.messagesLeft
	if stageOf(u.kind) == front {
		left = u.ordersLeft
	}
	if err := u.await(limited, left); err != nil {
		return err
	}
	return os.WriteFile(u.drainedFile(u.instance), nil, 0o600)
}

// await looks again and again until nothing is left for a while, or patience ends:
// a message that a unit works on is in no queue that others can see.
func (u *unit) await(ctx context.Context, left func(context.Context) (int64, error)) error {
	for quiet := 0; quiet < u.quietLooks(); quiet++ {
		n, err := left(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unit %s: drain: %w", u.instance, err)
		}
		if n > 0 {
			quiet = -1
		}
		u.pause(ctx)
	}
	return nil
}

// quietLooks is how often in a row nothing must be left.
func (u *unit) quietLooks() int {
	if u.design.Coordination == architecture.Choreographed {
		return 10
	}
	return 1
}

func (u *unit) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(drainInterval):
	}
}

// ordersLeft counts orders that are not final, and what drives them.
func (u *unit) ordersLeft(ctx context.Context) (int64, error) {
	db := u.database(shop.ComponentOrders)
	var orders, sagas int64
	_, err := db.One(ctx, []any{&orders}, "SELECT COUNT(*) FROM orders WHERE state NOT IN (?, ?, ?)",
		string(shop.StateConfirmed), string(shop.StateRejected), string(shop.StateCancelled))
	if err == nil {
		_, err = db.One(ctx, []any{&sagas}, "SELECT COUNT(*) FROM sagas")
	}
	if err != nil {
		return 0, err
	}
	messages, err := u.messagesLeft(ctx)
	return orders + sagas + messages, err
}

// messagesLeft counts events that are not published yet, or not taken in.
func (u *unit) messagesLeft(ctx context.Context) (left int64, err error) {
	if u.design.Coordination != architecture.Choreographed {
		return 0, nil
	}
	for _, db := range u.opened {
		n, err := event.Pending(ctx, db)
		if err != nil {
			return 0, err
		}
		left += n
	}
	onlyViews := stageOf(u.kind) == views
	for _, queue := range topology(u.design).Queues {
		isView := queue.Name == shop.ComponentOrderViews || queue.Name == shop.ComponentStockViews
		if isView != onlyViews {
			continue
		}
		depth, err := u.around.Broker.Depth(ctx, queue.Name)
		if err != nil {
			return 0, err
		}
		left += waiting(depth)
	}
	return left, nil
}

// waiting is what a queue holds; what the client cannot know is left out.
func waiting(d broker.Depth) int64 { return int64(d.Ready + max(d.Unacked, 0)) }

// drainedFile says that a unit has nothing left to do.
func (u *unit) drainedFile(instance string) string {
	return filepath.Join(u.place.Dir, instance+".drained")
}

// othersDrained waits until all units of earlier stages have said so.
func (u *unit) othersDrained(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	for _, kind := range u.design.Units {
		if stageOf(kind) >= stageOf(u.kind) {
			continue
		}
		for _, instance := range kind.Instances() {
			for !u.hasDrained(instance) && ctx.Err() == nil {
				u.pause(ctx)
			}
		}
	}
}

func (u *unit) hasDrained(instance string) bool {
	_, err := os.Stat(u.drainedFile(instance))
	return err == nil
}
