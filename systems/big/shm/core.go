package shm

import (
	"fmt"
	"runtime"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
)

// core is the lead unit's side. It sleeps on the roll while workers run.
type core struct {
	board   *board
	gang    bool
	inboxes ring.Row // of all workers
}

// NewCore returns the core of a job, on the shared memory that the process has
// inherited.
func NewCore(job big.UnitJob) (big.Workers, error) {
	board, err := inheritBoard(job.Job)
	if err != nil {
		return nil, err
	}
	return newCore(board, job)
}

func newCore(b *board, job big.UnitJob) (*core, error) {
	inboxes, err := b.inboxesOf(0, job.Total())
	if err != nil {
		return nil, err
	}
	return &core{board: b, gang: gang(job), inboxes: inboxes}, nil
}

// Gather implements big.Workers.
func (c *core) Gather() error {
	if err := c.board.await(&c.board.roll.registered); err != nil {
		return fmt.Errorf("await registration of the workers: %w", err)
	}
	return nil
}

// KickOff implements big.Workers.
func (c *core) KickOff() error {
	if err := c.tellAll(kickOff); err != nil || !c.gang {
		return err
	}
	now := big.Clock()
	for _, first := range c.drawCircles() {
		if err := c.board.districts[first].begin(now); err != nil {
			return err
		}
	}
	return nil
}

// tellAll sends a message to every worker.
func (c *core) tellAll(k kind) error {
	for worker := range c.board.job.Total() {
		if err := c.inboxes.Send(worker, message(k, 0)); err != nil {
			return fmt.Errorf("send message of kind %d to worker %d: %w", k, worker, err)
		}
	}
	return nil
}

// drawCircles links the districts that share a processor into a circle each and
// returns the first of each. Districts that are not pinned are dealt out to as
// many circles as there are processors.
func (c *core) drawCircles() (firsts []int) {
	circles := map[uint32]int{} // the last district so far, by processor
	for number := range c.board.districts {
		processor := c.board.districts[number].pinned.Load()
		if processor == 0 {
			processor = 1 + uint32(number%runtime.NumCPU())
		}
		last, drawn := circles[processor]
		circles[processor] = number
		if !drawn {
			c.board.districts[number].next.Store(uint32(number))
			firsts = append(firsts, number)
			continue
		}
		c.board.districts[number].next.Store(c.board.districts[last].next.Load())
		c.board.districts[last].next.Store(uint32(number))
	}
	return firsts
}

// AwaitFinish implements big.Workers.
func (c *core) AwaitFinish() error {
	if err := c.board.await(&c.board.roll.finished); err != nil {
		return fmt.Errorf("await the workers' finish: %w", err)
	}
	return nil
}

// Dismiss implements big.Workers. All gates are lifted first, since a worker at a
// closed gate does not look into its inbox.
func (c *core) Dismiss() error {
	for number := range c.board.districts {
		if err := c.board.districts[number].lift(); err != nil {
			return err
		}
	}
	return c.tellAll(dismissal)
}

// Account implements big.Workers.
func (c *core) Account(startNs, endNs int64) big.Account {
	account := big.NewAccount()
	account.Core = &big.CoreAccount{
		Registered: int(c.board.roll.registered.Load()), Finished: int(c.board.roll.finished.Load()),
		StartNs: startNs, EndNs: endNs,
	}
	return account
}
