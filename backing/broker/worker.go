package broker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// received is a delivery with what its broker can do with it.
type received struct {
	Delivery
	ack func() error // the broker forgets the message
	// ackAll forgets the message and all that came before it; nil where the broker
	// cannot do that.
	ackAll func() error
	// release gives the message back; nil where the end of the session does.
	release func()
	// extend resets the broker's acknowledgement timeout of the message; nil if it has none.
	extend func()
	// sequence identifies a message that has extend in its queue.
	sequence uint64
}

// worker passes received messages to a handler, in their order. It belongs to one session with the broker:
// when that ends, it drops its messages, because the broker will deliver them again.
type worker struct {
	subscription Subscription
	handler      Handler
	limit        int // attempts before a message is dead; 0: none
	bury         func(context.Context, Delivery) error
	// freed is called for every message that leaves the worker; may be nil where none has extend.
	freed       func()
	extendEvery time.Duration // interval of calls of extend
	counters    *counters

	ctx       context.Context // of the handler
	until     context.Context // when it ends, no more handlers begin
	end       context.CancelFunc
	input     chan *received
	running   sync.WaitGroup
	mu        sync.Mutex
	unsettled map[uint64]*received // by sequence, of those that have extend
}

const (
	firstRetryPause   = 10 * time.Millisecond
	longestRetryPause = time.Second
)

// start begins to handle messages. There is room for all that the broker may have handed out, so put never
// waits.
func (w *worker) start(ctx context.Context) {
	w.ctx = ctx
	w.until, w.end = context.WithCancel(ctx)
	w.unsettled = map[uint64]*received{}
	w.input = make(chan *received, w.subscription.Prefetch)
	w.running.Go(w.work)
	if w.extendEvery > 0 {
		go w.extend()
	}
}

// put takes a message in. One that the worker has already stays the one it is: a broker that was extended
// too late, because the host was busy, hands it out again, and that is no attempt.
func (w *worker) put(r *received) {
	w.counters.addReceived(r.Delivery)
	if !w.hold(r) {
		w.freed()
		return
	}
	w.counters.held.Add(1)
	if len(r.Headers) > 0 {
		r.Received = time.Now()
	}
	w.input <- r
}

// hold notes that a message is to be extended, and reports whether it is not held
// already.
func (w *worker) hold(r *received) bool {
	if r.extend == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsettled[r.sequence] != nil {
		return false
	}
	w.unsettled[r.sequence] = r
	return true
}

// finish ends the session: a handler that is under way ends, the rest is dropped.
// Its messages can no longer be acknowledged when the connection is lost;
// otherwise they are.
func (w *worker) finish() {
	w.end()
	close(w.input)
	w.running.Wait()
}

func (w *worker) work() {
	for first := range w.input {
		batch := []*received{first}
	fill:
		for len(batch) < w.subscription.Batch {
			select {
			case next, ok := <-w.input:
				if !ok {
					break fill
				}
				batch = append(batch, next)
			default:
				break fill
			}
		}
		w.handle(batch)
	}
}

// handle does one batch, together if that works, else one by one.
func (w *worker) handle(batch []*received) {
	together := len(batch) > 1 && w.until.Err() == nil && !slices.ContainsFunc(batch, w.dead)
	if together && w.handler(w.ctx, deliveries(batch)) == nil {
		w.settle(batch)
		return
	}
	for n := range batch {
		w.handleOne(batch[n])
	}
}

// dead reports whether a message had all its attempts.
func (w *worker) dead(r *received) bool { return w.limit > 0 && r.Attempt > w.limit }

// handleOne repeats until the handler is content, or the message is dead and buried. Newer messages wait
// meanwhile.
func (w *worker) handleOne(r *received) {
	for wait := firstRetryPause; w.until.Err() == nil; wait = min(2*wait, longestRetryPause) {
		var err error
		if w.dead(r) {
			err = w.bury(w.ctx, r.Delivery)
		} else if err = w.handler(w.ctx, []Delivery{r.Delivery}); err != nil {
			r.Attempt++
		}
		if err == nil {
			w.settle([]*received{r})
			return
		}
		pause(w.until, wait)
	}
	if r.release != nil {
		r.release()
	}
	w.forget(r)
}

// settle acknowledges handled messages. If an acknowledgement is lost, the broker
// delivers the message again: that is allowed by at-least-once.
func (w *worker) settle(batch []*received) {
	// Messages are settled in the order in which they came, so all before the last are: one that was left
	// unsettled was itself the last.
	last := batch[len(batch)-1]
	together := len(batch) > 1 && last.ackAll != nil
	if together {
		_ = last.ackAll()
	}
	for _, r := range batch {
		if !together {
			_ = r.ack()
		}
		w.forget(r)
	}
}

// forget drops a message, which no longer takes the room of one that is held.
func (w *worker) forget(r *received) {
	if r.extend != nil {
		w.mu.Lock()
		delete(w.unsettled, r.sequence)
		w.mu.Unlock()
	}
	w.counters.held.Add(-1)
	if w.freed != nil {
		w.freed()
	}
}

// extend keeps the broker from handing out again what only takes its time.
func (w *worker) extend() {
	tick := time.NewTicker(w.extendEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.until.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		waiting := slices.Collect(maps.Values(w.unsettled))
		w.mu.Unlock()
		for _, r := range waiting {
			r.extend()
		}
	}
}

// deliveries returns what a handler sees of a batch.
func deliveries(batch []*received) []Delivery {
	all := make([]Delivery, len(batch))
	for n, r := range batch {
		all[n] = r.Delivery
	}
	return all
}
