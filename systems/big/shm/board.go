package shm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

// roll is the first line of the shared memory. The core sleeps on its words.
type roll struct {
	registered atomic.Uint32 // workers that are ready for the kick-off
	finished   atomic.Uint32 // workers that have reached their limit
	_          [ring.Line - 8]byte
}

// district is a neighbourhood's line of the shared memory.
type district struct {
	// pinned is 1 + the processor that the neighbourhood is pinned to, or 0.
	pinned   atomic.Uint32
	finished atomic.Uint32 // workers of this neighbourhood
	gate     atomic.Uint32 // closed, open or lifted; gang only
	// next is the district whose turn comes after this one, in the circle of
	// those that share a processor. The core draws the circles.
	next atomic.Uint32
	// turnEnds is the time on the host's clock at which another's turn comes.
	turnEnds atomic.Int64
	_        [ring.Line - 24]byte
}

// The positions of a gate.
const (
	closed = 0
	open   = 1
	lifted = 2 // no more turns
)

// board is one process's view of the shared memory of a job: the roll, a
// district per neighbourhood, an inbox per worker.
type board struct {
	job       big.Job
	roll      *roll
	districts []district
	inboxes   []byte
}

// inboxCapacity returns how many messages can be unread in one inbox: one ping of
// every worker of the neighbourhood (with self-pings its own, too), because each
// has at most one unanswered ping, and one more. That is the pong to the
// worker's own ping, or the kick-off before the first ping, or the dismissal,
// when all pongs are in and no ping is on its way.
//
// A slot is free again before its message is handled, hence before the answer
// leaves that lets the sender send again. So ErrFull means a broken rule.
func inboxCapacity(job big.Job) int { return job.Workers + 1 }

// boardSize returns the size in bytes of the shared memory of a job.
func boardSize(job big.Job) int {
	lines := 1 + job.Neighbourhoods
	return lines*ring.Line + job.Total()*ring.Size(inboxCapacity(job))
}

// inheritBoard lays the board over the memory that the deployer made.
func inheritBoard(job big.Job) (*board, error) {
	memory, err := unit.SharedMemory(int64(boardSize(job)))
	if err != nil {
		return nil, err
	}
	return newBoard(job, memory)
}

func newBoard(job big.Job, memory []byte) (*board, error) {
	if len(memory) < boardSize(job) {
		return nil, fmt.Errorf("shared memory has %d bytes, the board needs %d", len(memory), boardSize(job))
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	return &board{
		job:       job,
		roll:      (*roll)(start),
		districts: unsafe.Slice((*district)(unsafe.Add(start, ring.Line)), job.Neighbourhoods),
		inboxes:   memory[(1+job.Neighbourhoods)*ring.Line:],
	}, nil
}

// inboxesOf attaches to the inboxes of a number of workers.
func (b *board) inboxesOf(first, workers int) (ring.Row, error) {
	capacity := inboxCapacity(b.job)
	row, err := ring.Attach(b.inboxes[first*ring.Size(capacity):], workers, capacity)
	if err != nil {
		return ring.Row{}, fmt.Errorf("inboxes of workers %d to %d: %w", first, first+workers-1, err)
	}
	return row, nil
}

// done reports whether all workers of a district have reached their limit.
func (b *board) done(d *district) bool {
	return d.finished.Load() >= uint32(b.job.Workers)
}

// heir returns the first district after d in its circle that is not done, or d.
func (b *board) heir(d *district) *district {
	heir := &b.districts[d.next.Load()]
	for heir != d && b.done(heir) {
		heir = &b.districts[heir.next.Load()]
	}
	return heir
}

// count adds one to a word of the roll and wakes the core with the last worker.
func (b *board) count(word *atomic.Uint32) error {
	if word.Add(1) < uint32(b.job.Total()) {
		return nil
	}
	return ring.Wake(word, ring.All)
}

// await sleeps until a word of the roll has counted all workers.
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
