package broker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// received is a delivery with the operations of its broker.
type received struct {
	Delivery
	ack func() error // acknowledges the message
	// ackAll acknowledges the message and all earlier ones; nil if the broker cannot do
	// that.
	ackAll func() error
	// release returns the message to its queue; nil if the end of the session does so.
	release func()
	// extend resets the broker's acknowledgement timeout of the message; nil if it has none.
	extend func()
	// sequence identifies a message that has extend in its queue.
	sequence uint64
}

// worker passes received messages to a handler, in their order. With RabbitMQ it belongs to one session with
// the broker: when that ends, it drops its messages, because the broker will deliver them again. With NATS it
// belongs to one Consume, and keeps its messages when the connection is lost.
type worker struct {
	subscription Subscription
	handler      Handler
	limit        int // attempts before a message is dead; 0: no limit
	deadLetter   func(context.Context, Delivery) error
	// freed is called for every message that leaves the worker; may be nil if no message has extend.
	freed       func()
	extendEvery time.Duration // interval of calls of extend
	counters    *counters

	ctx       context.Context // of the handler
	until     context.Context // when it ends, no more handlers are called
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

// start begins to handle messages. input has room for all messages that the broker may deliver at once, so
// put never waits.
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

// put adds a message. It ignores a message that the worker already has: if extend comes too late because the
// host is busy, the broker delivers the message again, which is no further attempt.
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

// hold registers a message for extend. It returns false if the worker already has the
// message.
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

// finish ends the session. It waits for a running handler, whose messages are then
// acknowledged unless the connection is lost, and drops all other messages.
func (w *worker) finish() {
	w.end()
	close(w.input)
	w.running.Wait()
}

// work handles the messages of input until input is closed. A batch is the messages that are waiting, up to
// Subscription.Batch.
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

// handle handles a batch: all messages together, or if that fails, one by one.
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

// dead reports whether all attempts at a message have failed.
func (w *worker) dead(r *received) bool { return w.limit > 0 && r.Attempt > w.limit }

// handleOne calls the handler until it succeeds, or until the message is dead and is moved to the dead
// letters. Newer messages wait meanwhile.
func (w *worker) handleOne(r *received) {
	for wait := firstRetryPause; w.until.Err() == nil; wait = min(2*wait, longestRetryPause) {
		var err error
		if w.dead(r) {
			err = w.deadLetter(w.ctx, r.Delivery)
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
// delivers the message again, which at-least-once delivery allows.
func (w *worker) settle(batch []*received) {
	// ackAll also acknowledges all earlier messages. They are settled already, because messages are settled in
	// the order of their arrival. If a message is left unsettled, no later one is settled.
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

// forget removes a message from the worker, so that another may come.
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

// extend calls extend of all unsettled messages regularly, so that the broker does not deliver them again.
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

// deliveries returns the deliveries of a batch.
func deliveries(batch []*received) []Delivery {
	all := make([]Delivery, len(batch))
	for n, r := range batch {
		all[n] = r.Delivery
	}
	return all
}
