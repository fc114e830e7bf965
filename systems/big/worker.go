package big

import (
	"fmt"
	"math/bits"
)

// nobody is the awaited neighbour of a worker without an outstanding ping.
const nobody = -1

// Job is the size of the work, the same for every architecture.
type Job struct {
	Neighbourhoods int    `json:"neighbourhoods"`
	Workers        int    `json:"workers"` // per neighbourhood
	Pings          int    `json:"pings"`   // per worker
	SelfPings      bool   `json:"self_pings,omitempty"`
	Seed           uint64 `json:"seed"`
}

// Total returns the number of workers in all neighbourhoods.
func (j Job) Total() int { return j.Neighbourhoods * j.Workers }

// RoundTrips returns the number of pings (each with its pong) of the whole job.
func (j Job) RoundTrips() int64 { return int64(j.Total()) * int64(j.Pings) }

// Neighbourhood returns the neighbourhood of a worker, counted from 0.
func (j Job) Neighbourhood(worker int) int { return worker / j.Workers }

// Index returns the index of a worker in its neighbourhood, counted from 0.
func (j Job) Index(worker int) int { return worker % j.Workers }

// Worker implements the rules of one worker: the targets and number of its pings, and the pong that it
// expects. It knows no channels and no sockets; every architecture runs the same Worker. It is not safe for
// concurrent use.
type Worker struct {
	number    int // of all workers, from 0
	index     int // in the neighbourhood, from 0
	size      int // of the neighbourhood
	limit     int
	selfPings bool
	random    uint64 // state of the generator: see nextRandom
	awaited   int    // the neighbour whose pong is outstanding, or nobody
	sent      int
	received  int
	answered  int
	targets   []uint32 // pings sent, one entry per neighbour
	clock     func() int64
	halfNs    int64 // when half of the pings were sent; 0: not yet
	finishNs  int64 // when the last pong was received
}

// NewWorker returns worker number (0..Total-1) of the job. clock returns the host's monotonic time in
// nanoseconds; it is called twice in the life of a worker.
func (j Job) NewWorker(number int, clock func() int64) *Worker {
	return &Worker{
		number: number, index: j.Index(number), size: j.Workers, limit: j.Pings, selfPings: j.SelfPings,
		random: seedOf(j.Seed, number), awaited: nobody, targets: make([]uint32, j.Workers), clock: clock,
	}
}

// Index returns the worker's index in its neighbourhood.
func (w *Worker) Index() int { return w.index }

// Done reports whether all pings were sent and all their pongs received.
func (w *Worker) Done() bool { return w.received == w.limit }

// Next returns the index of the neighbour to ping now, or false if the limit is reached. The kick-off of the
// benchmark does not count as a pong: a worker sends exactly its limit of pings and receives as many pongs.
func (w *Worker) Next() (target int, more bool) {
	if w.sent == w.limit {
		return nobody, false
	}
	target = w.draw()
	w.awaited = target
	w.targets[target]++
	w.sent++
	if 2*w.sent >= w.limit && w.halfNs == 0 {
		w.halfNs = w.clock()
	}
	return target, true
}

// Pong counts the answer of a neighbour. It is an error if that neighbour was not pinged.
func (w *Worker) Pong(from int) error {
	if from != w.awaited {
		return fmt.Errorf("worker %d got a pong from neighbour %d, awaited %d", w.number, from, w.awaited)
	}
	w.awaited = nobody
	w.received++
	if w.received == w.limit {
		w.finishNs = w.clock()
	}
	return nil
}

// Ping counts a ping of a neighbour; the caller sends the pong. It is an error if the sender is not in the
// neighbourhood.
func (w *Worker) Ping(from int) error {
	if uint(from) >= uint(w.size) {
		return fmt.Errorf("worker %d got a ping from %d, its neighbourhood has 0..%d", w.number, from, w.size-1)
	}
	w.answered++
	return nil
}

// Answered counts a ping whose sender is unknown, as over HTTP.
func (w *Worker) Answered() { w.answered++ }

// draw returns a uniformly random neighbour: the high half of the 128-bit product maps a 64-bit random number
// to 0..n-1 with a bias below n/2^64.
func (w *Worker) draw() int {
	choices := w.size
	if !w.selfPings {
		choices--
	}
	high, _ := bits.Mul64(w.nextRandom(), uint64(choices))
	target := int(high)
	if !w.selfPings && target >= w.index {
		target++
	}
	return target
}

// nextRandom returns the next number of the splitmix64 generator (Steele, Lea, Flood 2014, "Fast splittable
// pseudorandom number generators", figure 15). It has the full period; each worker starts at another point.
func (w *Worker) nextRandom() uint64 {
	w.random += 0x9e3779b97f4a7c15
	return mix(w.random)
}

// mix is the output function of splitmix64.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// seedOf returns the initial state of the generator of a worker. It differs for every worker of a trial.
func seedOf(trial uint64, worker int) uint64 {
	return mix(mix(trial) + uint64(worker)*0xd1342543de82ef95)
}
