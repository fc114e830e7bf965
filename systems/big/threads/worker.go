package threads

import (
	"sync"

	"github.com/cleave-lab/cleave/systems/big"
)

// kickOff is the pong by which the main goroutine makes a worker begin. It
// answers no ping, so no index of a neighbour may equal it.
const kickOff = -1

// pongCapacity suffices because a worker pings again only after the pong to its
// last ping, and pings first after the kick-off.
const pongCapacity = 1

// pingCapacity returns how many pings can wait at one worker at the same time: one
// of every worker that may ping it, since each has at most one unanswered ping.
//
// With this capacity no send can ever block, so there is no deadlock. With
// less, all workers can block in a send to a full channel while nobody reads:
// capacities up to 4 do so at once with ten workers.
func pingCapacity(job big.Job) int {
	if job.SelfPings {
		return job.Workers
	}
	return job.Workers - 1
}

// worker is a worker with its channels, as the study's struct of the same name.
type worker struct {
	ping  chan int // index of the sender
	pong  chan int // index of the answering worker, or kickOff
	rules *big.Worker
}

func newWorker(job big.Job, number int) *worker {
	return &worker{
		ping:  make(chan int, pingCapacity(job)),
		pong:  make(chan int, pongCapacity),
		rules: job.NewWorker(number, big.Clock),
	}
}

// work is the body of a worker's goroutine. It returns when the ping channel is
// closed, or with the rule that was broken.
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
