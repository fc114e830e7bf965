package threadsfast

import (
	"sync"
	"sync/atomic"
)

const (
	// cacheLinePair is the size of two cache lines, in bytes: the hardware fetches them in pairs.
	cacheLinePair = 128
	// shareFrom is the queue length from which a processor shares its work: waking a sleeping thread costs more
	// than running a few short handlers.
	shareFrom = 4
)

// processor runs workers one after the other on one goroutine. Only it accesses its queue while it
// runs: a processor without work asks, and one with work gives it half of its queue while it sleeps (private
// deques; Acar, Charguéraud, Rainey 2013). So neither queueing nor running needs synchronisation.
type processor struct {
	queue queue
	wake  chan struct{} // holds a token if the processor has to wake up
	_     [cacheLinePair]byte
}

// newProcessor returns a processor with room for a number of workers in its queue.
func newProcessor(workers int) *processor {
	return &processor{queue: newQueue(workers), wake: make(chan struct{}, 1)}
}

// queue is a ring of workers. A worker is at most once in at most one queue, so a ring with room for all
// workers cannot overflow.
type queue struct {
	ring []slot // a power of two long
	head uint32
	tail uint32
}

// newQueue returns an empty queue with room for a number of workers.
func newQueue(workers int) queue {
	length := 1
	for length < workers {
		length *= 2
	}
	return queue{ring: make([]slot, length)}
}

func (q *queue) length() uint32 { return q.tail - q.head }

func (q *queue) push(worker slot) {
	q.ring[q.tail&uint32(len(q.ring)-1)] = worker
	q.tail++
}

// pop removes and returns the oldest worker of a queue that is not empty.
func (q *queue) pop() slot {
	worker := q.ring[q.head&uint32(len(q.ring)-1)]
	q.head++
	return worker
}

// bench holds the processors that wait for work.
type bench struct {
	waiting  atomic.Int32 // the number of sleepers, readable without the lock
	_        [cacheLinePair]byte
	mu       sync.Mutex
	sleepers []*processor
	closed   bool
}

// sit puts a processor without work to sleep until it gets some, or the bench is closed. It returns false if
// the bench was closed before.
func (b *bench) sit(p *processor) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.sleepers = append(b.sleepers, p)
	b.waiting.Store(int32(len(b.sleepers)))
	b.mu.Unlock()
	<-p.wake
	return true
}

// share gives half of a processor's queue, the oldest workers, to a sleeper.
func (b *bench) share(p *processor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sleepers) == 0 {
		return // another processor was faster
	}
	last := len(b.sleepers) - 1
	taker := b.sleepers[last]
	b.sleepers = b.sleepers[:last]
	b.waiting.Store(int32(last))
	for range p.queue.length() / 2 {
		taker.queue.push(p.queue.pop())
	}
	taker.wake <- struct{}{}
}

// begin wakes every sleeper, to run the workers in its queue.
func (b *bench) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeAll()
}

// close makes all processors return. The work must be over.
func (b *bench) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wakeAll()
}

func (b *bench) wakeAll() {
	for _, p := range b.sleepers {
		p.wake <- struct{}{}
	}
	b.sleepers = nil
	b.waiting.Store(0)
}
