package shm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

// totals is the first cache line of the shared memory. The core sleeps on its words.
type totals struct {
	registered atomic.Uint32 // workers that are ready for the kick-off
	finished   atomic.Uint32 // workers that have reached their limit
	_          [ring.Line - 8]byte
}

// neighbourhood is the cache line of a neighbourhood in the shared memory.
type neighbourhood struct {
	// pinned is 1 + the processor that the neighbourhood is pinned to; 0: it is not pinned.
	pinned   atomic.Uint32
	finished atomic.Uint32 // workers of this neighbourhood that have reached their limit
	gate     atomic.Uint32 // closed, open or lifted; only used with the knob gang
	// next is the number of the neighbourhood whose turn comes after this one. Those that share a processor
	// form a circle, which the core links.
	next atomic.Uint32
	// turnEnds is the time, by big.Clock, at which the turn of this neighbourhood ends.
	turnEnds atomic.Int64
	_        [ring.Line - 24]byte
}

// The positions of a gate.
const (
	closed = 0
	open   = 1
	lifted = 2 // open for good: there are no more turns
)

// board is one process's view of the shared memory of a job: the totals, a line per neighbourhood, and an
// inbox per worker.
type board struct {
	job            big.Job
	totals         *totals
	neighbourhoods []neighbourhood
	inboxes        []byte
}

// inboxCapacity returns the number of messages that can be unread in one inbox: one ping of every worker of
// the neighbourhood (with self-pings its own, too), because each has at most one unanswered ping, and one
// more. That is the pong to the worker's own ping, or the kick-off before the first ping, or the dismissal,
// when all pongs have arrived and no ping is in flight.
//
// The slot of a message is freed before the message is handled, hence before the answer that lets its sender
// send again. So ErrFull means that a rule is broken.
func inboxCapacity(job big.Job) int { return job.Workers + 1 }

// boardSize returns the size in bytes of the shared memory of a job.
func boardSize(job big.Job) int {
	lines := 1 + job.Neighbourhoods
	return lines*ring.Line + job.Total()*ring.Size(inboxCapacity(job))
}

// inheritBoard returns the board on the shared memory that the deployer has made.
func inheritBoard(job big.Job) (*board, error) {
	memory, err := unit.SharedMemory(int64(boardSize(job)))
	if err != nil {
		return nil, err
	}
	return newBoard(job, memory)
}

// newBoard returns the board on memory, which must begin at a cache line.
func newBoard(job big.Job, memory []byte) (*board, error) {
	if len(memory) < boardSize(job) {
		return nil, fmt.Errorf("shared memory has %d bytes, the board needs %d", len(memory), boardSize(job))
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	return &board{
		job:            job,
		totals:         (*totals)(start),
		neighbourhoods: unsafe.Slice((*neighbourhood)(unsafe.Add(start, ring.Line)), job.Neighbourhoods),
		inboxes:        memory[(1+job.Neighbourhoods)*ring.Line:],
	}, nil
}

// inboxesOf returns the inboxes of a number of workers from the first on.
func (b *board) inboxesOf(first, workers int) (ring.Row, error) {
	capacity := inboxCapacity(b.job)
	row, err := ring.Attach(b.inboxes[first*ring.Size(capacity):], workers, capacity)
	if err != nil {
		return ring.Row{}, fmt.Errorf("inboxes of workers %d to %d: %w", first, first+workers-1, err)
	}
	return row, nil
}

// done reports whether all workers of a neighbourhood have reached their limit.
func (b *board) done(n *neighbourhood) bool {
	return n.finished.Load() >= uint32(b.job.Workers)
}

// successor returns the first neighbourhood after n in its circle that is not done, or n if there is none.
func (b *board) successor(n *neighbourhood) *neighbourhood {
	next := &b.neighbourhoods[n.next.Load()]
	for next != n && b.done(next) {
		next = &b.neighbourhoods[next.next.Load()]
	}
	return next
}

// count adds one to a word of the totals. With the last worker it wakes the core.
func (b *board) count(word *atomic.Uint32) error {
	if word.Add(1) < uint32(b.job.Total()) {
		return nil
	}
	return ring.Wake(word, ring.All)
}

// await sleeps until a word of the totals has counted all workers.
func (b *board) await(word *atomic.Uint32) error {
	for {
		counted := word.Load()
		if counted >= uint32(b.job.Total()) {
			return nil
		}
		if err := ring.Wait(word, counted); err != nil {
			return err
		}
	}
}
