package shm

import (
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

// monitorSlack is the timer slack of the Go runtime's monitor: long enough for its wake-ups to coincide with
// ticks of the kernel. The monitor wakes up a hundred times a second while its process has work. It has
// nothing to do here, but those of 500 processes interrupt the workers 50,000 times a second, which was 12 %
// of the cost of a round trip at 10x50 (2 % at 10x10).
const monitorSlack = 200 * time.Millisecond

// worker is the worker of this process. The fields that it needs for a round trip are next to each other:
// after every switch of processes they have to be loaded into the caches again.
type worker struct {
	rules      *big.Worker
	inbox      ring.Inbox
	neighbours ring.Row // by index, its own inbox included
	rest       rest
	home       *neighbourhood
	board      *board
}

// RunWorker runs the job's worker until the core dismisses it, and returns its account.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		board, err := inheritBoard(job.Job)
		if err != nil {
			return err
		}
		w, err := newWorker(board, job, rules)
		if err != nil {
			return err
		}
		if err := unit.Slacken(monitorSlack); err != nil {
			return err
		}
		if err := w.register(); err != nil {
			return err
		}
		return w.serve()
	})
}

// newWorker returns the worker of a job on a board.
func newWorker(b *board, job big.UnitJob, rules *big.Worker) (*worker, error) {
	home := job.Neighbourhood(job.Worker)
	w := &worker{board: b, home: &b.neighbourhoods[home], rules: rules}
	neighbours, err := b.inboxesOf(home*job.Workers, job.Workers)
	if err != nil {
		return nil, err
	}
	w.neighbours = neighbours
	w.inbox = neighbours.Reader(w.rules.Index())
	// With different pauses at the start, neighbours read the clock at different times.
	w.rest = rest{board: b, home: w.home, gang: gang(job), pauses: w.rules.Index()}
	return w, nil
}

// register counts the worker as registered, after it has noted the processor of its neighbourhood.
func (w *worker) register() error {
	pinned, err := pinnedTo()
	if err != nil {
		return err
	}
	w.home.pinned.Store(pinned)
	return w.board.count(&w.board.totals.registered)
}

// serve handles messages until the dismissal.
func (w *worker) serve() error {
	fruitless := 0 // pauses since the last message
	for {
		message, received := w.inbox.Receive()
		if !received {
			if err := w.rest.pause(&w.inbox, fruitless); err != nil {
				return err
			}
			fruitless++
			continue
		}
		fruitless = 0
		if kindOf(message) == dismissal {
			return nil
		}
		if err := w.handle(kindOf(message), senderOf(message)); err != nil {
			return err
		}
	}
}

// handle handles a message of a neighbour, or the kick-off.
func (w *worker) handle(k kind, from int) error {
	switch k {
	case ping:
		if err := w.rules.Ping(from); err != nil {
			return err
		}
		return w.send(from, pong)
	case pong:
		if err := w.rules.Pong(from); err != nil {
			return err
		}
		return w.pingNext()
	case kickOff:
		return w.pingNext()
	default:
		return fmt.Errorf("worker got a message of unknown kind %d from neighbour %d", k, from)
	}
}

// pingNext sends the next ping, or counts the worker as finished.
func (w *worker) pingNext() error {
	target, more := w.rules.Next()
	if more {
		return w.send(target, ping)
	}
	w.home.finished.Add(1)
	return w.board.count(&w.board.totals.finished)
}

// send sends a message of a kind to a neighbour.
func (w *worker) send(neighbour int, k kind) error {
	if err := w.neighbours.Send(neighbour, message(k, w.rules.Index())); err != nil {
		return fmt.Errorf("send message of kind %d to neighbour %d: %w", k, neighbour, err)
	}
	return nil
}
