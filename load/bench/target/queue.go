//go:build linux

package target

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Service is a queue with one server in front of the answers: first come, first
// served, each request for a time of its own. The zero value answers at once.
//
// The times are kept, not burned: an answer leaves Mean (or a random time) after
// its request came by the kernel's clock, or after the one before it was due, so
// that the capacity is known and a slow processor does not lower it.
type Service struct {
	Mean        time.Duration
	Exponential bool // M/M/1 with Poisson arrivals; otherwise every time is the mean: M/D/1
	Seed        uint64
}

// waiting is a request that waits for its answer.
type waiting struct {
	fd    int32
	came  int64 // nanoseconds since 1970
	ready int64
}

// queue implements the waiting of Service.
type queue struct {
	service Service
	random  *rand.Rand
	fresh   []waiting // read and not yet in line
	line    []waiting
	free    int64 // when the last in line is done
}

func newQueue(s Service) *queue {
	const stream = 7 // any number
	return &queue{service: s, random: rand.New(rand.NewPCG(s.Seed, stream))}
}

func (q *queue) add(fd int32, came int64) { q.fresh = append(q.fresh, waiting{fd: fd, came: came}) }

// admit puts what came into the line, in the order in which it came.
func (q *queue) admit() {
	slices.SortStableFunc(q.fresh, func(a, b waiting) int { return cmp.Compare(a.came, b.came) })
	for _, w := range q.fresh {
		takes := float64(q.service.Mean)
		if q.service.Exponential {
			takes *= q.random.ExpFloat64()
		}
		q.free = max(q.free, w.came) + int64(takes)
		w.ready = q.free
		q.line = append(q.line, w)
	}
	q.fresh = q.fresh[:0]
}

// forget drops the requests of a connection that is gone: its number may soon be
// another's.
func (q *queue) forget(fd int32) {
	gone := func(w waiting) bool { return w.fd == fd }
	q.fresh, q.line = slices.DeleteFunc(q.fresh, gone), slices.DeleteFunc(q.line, gone)
}

// spinBefore is how long before an answer is due waiting becomes spinning: a
// sleeper on a virtual machine wakes some tens of microseconds late.
const spinBefore = 80 * time.Microsecond

// patience is how long the server sleeps at most, so that it sees its end.
const patience = 50 * time.Millisecond

// wait sleeps until the first answer is nearly due. What comes meanwhile keeps
// its time in the kernel.
func (q *queue) wait() {
	if len(q.line) == 0 {
		return
	}
	left := time.Duration(q.line[0].ready-time.Now().UnixNano()) - spinBefore
	if left <= 0 {
		return
	}
	pause := unix.NsecToTimespec(int64(min(left, patience)))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0,
		uintptr(unsafe.Pointer(&pause)), 0, 0, 0)
}

// due takes the requests whose answers are due out of the line.
func (q *queue) due() []waiting {
	now := time.Now().UnixNano()
	n := 0
	for n < len(q.line) && q.line[n].ready <= now {
		n++
	}
	ready := q.line[:n]
	q.line = q.line[n:]
	return ready
}
