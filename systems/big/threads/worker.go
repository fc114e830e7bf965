package threads

import (
	"sync"

	"github.com/cleave-lab/cleave/systems/big"
)

// kickOff is the pong with which the main goroutine starts a worker. It is not the index of a neighbour.
const kickOff = -1

// pongCapacity is 1, which is enough: a worker pings only after the kick-off or the pong to its last ping.
const pongCapacity = 1

// pingCapacity returns the greatest number of pings that can wait at one worker: one of every worker that may
// ping it, since each has at most one unanswered ping.
//
// With this capacity no send ever blocks, so there is no deadlock. With less, all workers can block in a send
// to a full channel while none reads: with ten workers, capacities up to 4 deadlock at once.
func pingCapacity(job big.Job) int {
	if job.SelfPings {
		return job.Workers
	}
	return job.Workers - 1
}

// worker is a worker with its channels, like the study's struct of the same name.
type worker struct {
	ping  chan int // index of the sender
	pong  chan int // index of the answering worker, or kickOff
	rules *big.Worker
}

// newWorker returns worker number of the job.
func newWorker(job big.Job, number int) *worker {
	return &worker{
		ping:  make(chan int, pingCapacity(job)),
		pong:  make(chan int, pongCapacity),
		rules: job.NewWorker(number, big.Clock),
	}
}

// work is the body of a worker's goroutine. It returns nil when the ping channel is closed, or an error if a
// rule is broken.
func (w *worker) work(neighbourhood []*worker, finished *sync.WaitGroup) error {
	for {
		select {
		case from := <-w.pong:
			if from != kickOff {
				if err := w.rules.Pong(from); err != nil {
					return err
				}
			}
			target, more := w.rules.Next()
			if !more {
				finished.Done()
				continue
			}
			neighbourhood[target].ping <- w.rules.Index()
		case from, open := <-w.ping:
			if !open {
				return nil
			}
			if err := w.rules.Ping(from); err != nil {
				return err
			}
			neighbourhood[from].pong <- w.rules.Index()
		}
	}
}
