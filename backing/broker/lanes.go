package broker

import (
	"cmp"
	"context"
	"hash/maphash"
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
	// extend tells the broker that the message is still being worked on; nil
	// where it does not ask.
	extend func()
	// sequence identifies a message that has extend in its queue.
	sequence uint64
}

// lanes hand received messages to a handler: messages of one key go through one
// lane, one after the other. The lanes belong to one session with the broker:
// when that ends, what is left in them is dropped, as the broker will hand it
// out again.
type lanes struct {
	subscription Subscription
	handler      Handler
	limit        int // attempts before a message is dead; 0: none
	bury         func(context.Context, Delivery) error
	// freed is called for every message that leaves the lanes; may be nil where none has extend.
	freed       func()
	extendEvery time.Duration // how often a message that has extend is extended
	counters    *counters

	ctx       context.Context
	gone      chan struct{} // closed when the session ended
	leave     sync.Once
	inputs    []chan *received
	seed      maphash.Seed
	workers   sync.WaitGroup
	mu        sync.Mutex
	unsettled map[uint64]*received // by sequence, of those that have extend
}

const (
	firstRetryPause   = 10 * time.Millisecond
	longestRetryPause = time.Second
)

// start starts the lanes' workers. A lane can hold all that the broker may have
// handed out, so put never waits.
func (l *lanes) start(ctx context.Context) {
	l.ctx, l.gone, l.seed = ctx, make(chan struct{}), maphash.MakeSeed()
	l.unsettled = map[uint64]*received{}
	for range l.subscription.Lanes {
		input := make(chan *received, l.subscription.Prefetch)
		l.inputs = append(l.inputs, input)
		l.workers.Go(func() { l.work(input) })
	}
	if l.extendEvery > 0 {
		go l.extend()
	}
}

// put hands a message to the lane of its key; one without a key goes by its ID. A
// message that is in the lanes already stays the one it is: a broker that was extended
// too late, because the host was busy, hands it out again, and that is no attempt.
func (l *lanes) put(r *received) {
	l.counters.addReceived(r.Delivery)
	if !l.hold(r) {
		l.freed()
		return
	}
	l.counters.held.Add(1)
	if len(r.Headers) > 0 {
		r.Received = time.Now()
	}
	l.inputs[maphash.String(l.seed, cmp.Or(r.Key, r.ID))%uint64(len(l.inputs))] <- r
}

// hold notes that a message is to be extended, and reports whether it is not held
// already.
func (l *lanes) hold(r *received) bool {
	if r.extend == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsettled[r.sequence] != nil {
		return false
	}
	l.unsettled[r.sequence] = r
	return true
}

// finish ends the session: handlers that are under way end, the rest is dropped.
// Their messages can no longer be acknowledged when the connection is lost;
// otherwise they are.
func (l *lanes) finish() {
	l.leave.Do(func() { close(l.gone) })
	for _, input := range l.inputs {
		close(input)
	}
	l.workers.Wait()
}

// over reports whether no more handler may begin.
func (l *lanes) over() bool {
	select {
	case <-l.gone:
		return true
	case <-l.ctx.Done():
		return true
	default:
		return false
	}
}

func (l *lanes) work(input chan *received) {
	for first := range input {
		batch := []*received{first}
	fill:
		for len(batch) < l.subscription.Batch {
			select {
			case next, ok := <-input:
				if !ok {
					break fill
				}
				batch = append(batch, next)
			default:
				break fill
			}
		}
		l.handle(batch)
	}
}

// handle does one batch, together if that works, else one by one.
func (l *lanes) handle(batch []*received) {
	together := len(batch) > 1 && !l.over() && !slices.ContainsFunc(batch, l.dead)
	if together && l.handler(l.ctx, deliveries(batch)) == nil {
		l.settle(batch)
		return
	}
	for n := range batch {
		l.handleOne(batch[n])
	}
}

// dead reports whether a message had all its attempts.
func (l *lanes) dead(r *received) bool { return l.limit > 0 && r.Attempt > l.limit }

// handleOne repeats until the handler is content or the message is dead. It
// keeps its lane meanwhile: newer messages of its key wait.
func (l *lanes) handleOne(r *received) {
	for wait := firstRetryPause; !l.over(); wait = min(2*wait, longestRetryPause) {
		if l.dead(r) {
			if l.bury(l.ctx, r.Delivery) == nil {
				l.counters.deadLettered.Add(1)
				l.settle([]*received{r})
				return
			}
		} else {
			if l.handler(l.ctx, []Delivery{r.Delivery}) == nil {
				l.settle([]*received{r})
				return
			}
			if r.Attempt++; !l.dead(r) {
				l.counters.retried.Add(1)
			}
		}
		l.pause(wait)
	}
	if r.release != nil {
		r.release()
	}
	l.forget(r)
}

// settle acknowledges what was handled. When that does not reach the broker it
// hands the message out again: this is what at least once means.
func (l *lanes) settle(batch []*received) {
	// The only lane settles in the order in which messages came, so all before are
	// settled: one it left unsettled was its last.
	last := batch[len(batch)-1]
	together := len(batch) > 1 && len(l.inputs) == 1 && last.ackAll != nil
	if together && last.ackAll() == nil {
		l.counters.acked.Add(int64(len(batch)))
	}
	for _, r := range batch {
		if !together && r.ack() == nil {
			l.counters.acked.Add(1)
		}
		l.forget(r)
	}
}

// forget drops a message, which no longer takes the room of one that is held.
func (l *lanes) forget(r *received) {
	if r.extend != nil {
		l.mu.Lock()
		delete(l.unsettled, r.sequence)
		l.mu.Unlock()
	}
	l.counters.held.Add(-1)
	if l.freed != nil {
		l.freed()
	}
}

// extend keeps the broker from handing out again what only takes its time.
func (l *lanes) extend() {
	tick := time.NewTicker(l.extendEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		waiting := slices.Collect(maps.Values(l.unsettled))
		l.mu.Unlock()
		for _, r := range waiting {
			r.extend()
		}
	}
}

// pause waits before the next attempt, unless there will be none.
func (l *lanes) pause(wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-l.gone:
	case <-l.ctx.Done():
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
