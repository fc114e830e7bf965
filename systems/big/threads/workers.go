package threads

import (
	"fmt"
	"sync"

	"github.com/cleave-lab/cleave/systems/big"
)

// workers implements big.Workers for the goroutines of a job, all in this process.
type workers struct {
	job      big.Job
	workers  []*worker      // by number: those of a neighbourhood follow each other
	finished sync.WaitGroup // waits until all workers have reached their limit
	ended    sync.WaitGroup // waits until all goroutines have returned
	failed   big.Outcome    // the first error of a worker
}

// NewWorkers returns the workers of the job. They are started by Gather.
func NewWorkers(job big.UnitJob) big.Workers {
	c := &workers{job: job.Job, failed: big.NewOutcome()}
	for number := range job.Total() {
		c.workers = append(c.workers, newWorker(job.Job, number))
	}
	return c
}

// Gather implements big.Workers: it starts a goroutine per worker.
func (c *workers) Gather() error {
	c.finished.Add(len(c.workers))
	for number, w := range c.workers {
		first := number - c.job.Index(number)
		neighbourhood := c.workers[first : first+c.job.Workers]
		c.ended.Go(func() {
			if err := w.work(neighbourhood, &c.finished); err != nil {
				c.failed.Set(err)
			}
		})
	}
	return nil
}

// KickOff implements big.Workers: a pong to every worker, as in the study.
func (c *workers) KickOff() error {
	for _, w := range c.workers {
		w.pong <- kickOff
	}
	return nil
}

// AwaitFinish implements big.Workers.
func (c *workers) AwaitFinish() error {
	done := make(chan struct{})
	go func() {
		c.finished.Wait()
		close(done)
	}()
	if err := c.failed.Await(done); err != nil {
		return fmt.Errorf("multithreaded workers: %w", err)
	}
	return nil
}

// Dismiss implements big.Workers. All workers have finished, so no ping is in flight and nobody sends to the
// channels that it closes.
func (c *workers) Dismiss() error {
	for _, w := range c.workers {
		close(w.ping)
	}
	c.ended.Wait()
	if err := c.failed.Result(); err != nil {
		return fmt.Errorf("multithreaded workers: %w", err)
	}
	return nil
}

// Account implements big.Workers.
func (c *workers) Account() big.Account {
	rules := make([]*big.Worker, 0, len(c.workers))
	for _, w := range c.workers {
		rules = append(rules, w.rules)
	}
	account := big.NewAccount(rules...)
	total := len(c.workers)
	account.Core = &big.CoreAccount{Registered: total, Finished: total}
	return account
}
