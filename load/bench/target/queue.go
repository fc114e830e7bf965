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

// Service is a queue with one server in front of the answers: requests are served in the order of their
// arrival, each for a time of its own. The zero value answers at once.
//
// The server does no work in a service time, it waits. An answer is due Mean (or a random time) after the
// kernel received its request, or after the answer before it was due. So the capacity is known, and a slow
// processor does not lower it.
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

// queue holds the requests of a Service that wait for their answers.
type queue struct {
	service Service
	random  *rand.Rand
	fresh   []waiting // read and not yet in line
	line    []waiting
	free    int64 // when the last request in line is due
}

func newQueue(s Service) *queue {
	const stream = 7 // any number
	return &queue{service: s, random: rand.New(rand.NewPCG(s.Seed, stream))}
}

func (q *queue) add(fd int32, came int64) { q.fresh = append(q.fresh, waiting{fd: fd, came: came}) }

// admit moves the new requests into the line, in the order in which they came.
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

// forget drops the requests of a closed connection, whose descriptor the kernel may give to another.
func (q *queue) forget(fd int32) {
	gone := func(w waiting) bool { return w.fd == fd }
	q.fresh = slices.DeleteFunc(q.fresh, gone)
	q.line = slices.DeleteFunc(q.line, gone)
}

// spinBefore is the time before a due answer from which on the server spins instead of sleeping: a
// sleeper on a virtual machine wakes some tens of microseconds late.
const spinBefore = 80 * time.Microsecond

// patience is the longest sleep of the server, so that it notices when it is to stop.
const patience = 50 * time.Millisecond

// wait sleeps until the first answer is nearly due. The kernel notes the times of requests that come
// meanwhile.
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

// due removes the requests whose answers are due from the line, and returns them.
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
