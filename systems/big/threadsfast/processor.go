package threadsfast

import (
	"sync"
	"sync/atomic"
)

const (
	// cacheLine is the size of a line of the processors' caches, in bytes. Two
	// lines, because the hardware fetches them in pairs.
	cacheLine = 128
	// shareFrom is the queue length from which a processor gives work away: to
	// wake a sleeping thread costs more than to run a few short handlers.
	shareFrom = 4
)

// processor runs workers one after the other on one goroutine. Its queue is its
// own: who has nothing to do asks, and who has work gives half of it (private
// deques; Acar, Charguéraud, Rainey 2013). So neither queueing nor running
// synchronises with anybody.
type processor struct {
	queue queue
	wake  chan struct{} // holds a token when sleeping may end
	_     [cacheLine]byte
}

func newProcessor(workers int) *processor {
	return &processor{queue: newQueue(workers), wake: make(chan struct{}, 1)}
}

// queue is a ring of workers. A worker is in at most one queue once, so a ring
// with room for all of them cannot overflow.
type queue struct {
	ring []place // a power of two long
	head uint32
	tail uint32
}

func newQueue(workers int) queue {
	length := 1
	for length < workers {
		length *= 2
	}
	return queue{ring: make([]place, length)}
}

func (q *queue) length() uint32 { return q.tail - q.head }

func (q *queue) push(worker place) {
	q.ring[q.tail&uint32(len(q.ring)-1)] = worker
	q.tail++
}

// pop takes the oldest worker of a queue that is not empty.
func (q *queue) pop() place {
	worker := q.ring[q.head&uint32(len(q.ring)-1)]
	q.head++
	return worker
}

// bench is where processors without work wait to be given some.
type bench struct {
	waiting  atomic.Int32 // processors on the bench, readable without the lock
	_        [cacheLine]byte
	mu       sync.Mutex
	sleepers []*processor
	closed   bool
}

// sit puts a processor without work to sleep until it is given some. It returns
// false when the work is over.
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

// begin wakes every sleeper to run what was put into its queue.
func (b *bench) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeAll()
}

// close sends all processors home. The work must be over.
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
