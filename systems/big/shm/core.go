package shm

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
)

// core implements big.Workers over the shared memory. It sleeps on the totals while workers run.
type core struct {
	board   *board
	gang    bool     // whether the neighbourhoods on a processor take turns
	inboxes ring.Row // of all workers
}

// NewCore returns the core of a job, on the shared memory that the process has inherited.
func NewCore(job big.UnitJob) (big.Workers, error) {
	board, err := inheritBoard(job.Job)
	if err != nil {
		return nil, err
	}
	return newCore(board, job)
}

// newCore returns the core of a job on a board.
func newCore(b *board, job big.UnitJob) (*core, error) {
	inboxes, err := b.inboxesOf(0, job.Total())
	if err != nil {
		return nil, err
	}
	return &core{board: b, gang: gang(job), inboxes: inboxes}, nil
}

// Gather implements big.Workers.
func (c *core) Gather() error {
	if err := c.board.await(&c.board.totals.registered); err != nil {
		return fmt.Errorf("await registration of the workers: %w", err)
	}
	return nil
}

// KickOff implements big.Workers. With the knob gang it also begins the first turn of each circle.
func (c *core) KickOff() error {
	if err := c.sendAll(kickOff); err != nil || !c.gang {
		return err
	}
	now := big.Clock()
	for _, first := range c.linkCircles() {
		if err := c.board.neighbourhoods[first].begin(now); err != nil {
			return err
		}
	}
	return nil
}

// sendAll sends a message of a kind to every worker, also after an error.
func (c *core) sendAll(k kind) (err error) {
	for worker := range c.board.job.Total() {
		if failed := c.inboxes.Send(worker, message(k, 0)); failed != nil {
			err = errors.Join(err, fmt.Errorf("send message of kind %d to worker %d: %w", k, worker, failed))
		}
	}
	return err
}

// linkCircles links the neighbourhoods that share a processor to a circle, in which their turns go round, and
// returns the first one of each circle. Those that are not pinned are distributed over as many circles as
// there are processors.
func (c *core) linkCircles() (firsts []int) {
	lasts := map[uint32]int{} // the last neighbourhood of each circle so far, by processor
	all := c.board.neighbourhoods
	for number := range all {
		processor := all[number].pinned.Load()
		if processor == 0 {
			processor = 1 + uint32(number%runtime.NumCPU())
		}
		last, begun := lasts[processor]
		lasts[processor] = number
		if !begun {
			all[number].next.Store(uint32(number))
			firsts = append(firsts, number)
			continue
		}
		all[number].next.Store(all[last].next.Load())
		all[last].next.Store(uint32(number))
	}
	return firsts
}

// AwaitFinish implements big.Workers.
func (c *core) AwaitFinish() error {
	if err := c.board.await(&c.board.totals.finished); err != nil {
		return fmt.Errorf("await the workers' finish: %w", err)
	}
	return nil
}

// Dismiss implements big.Workers. It lifts all gates first, since a worker at a closed gate does not read its
// inbox.
func (c *core) Dismiss() (err error) {
	for number := range c.board.neighbourhoods {
		err = errors.Join(err, c.board.neighbourhoods[number].lift())
	}
	return errors.Join(err, c.sendAll(dismissal))
}

// Account implements big.Workers.
func (c *core) Account() big.Account {
	account := big.NewAccount()
	totals := c.board.totals
	account.Core = &big.CoreAccount{Registered: int(totals.registered.Load()),
		Finished: int(totals.finished.Load())}
	return account
}
