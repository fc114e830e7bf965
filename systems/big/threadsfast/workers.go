package threadsfast

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cleave-lab/cleave/systems/big"
)

// worker is a worker with its mailbox. It is padded to cacheLinePair, because the next worker in memory may
// run on another processor.
type worker struct {
	inbox mailbox
	first slot // the first worker of its neighbourhood
	rules *big.Worker
	_     [cacheLinePair - 16]byte
}

// workers implements big.Workers for the workers of a job, all in this process.
type workers struct {
	workers    []worker  // by slot
	messages   []message // by slot of their owners
	processors []*processor
	bench      bench
	unfinished atomic.Int64
	finished   chan struct{}
	failed     big.Outcome // the first error of a worker
	ended      sync.WaitGroup
}

// NewWorkers returns the workers of the job. Nothing runs before Gather.
func NewWorkers(job big.UnitJob) big.Workers {
	total := job.Total()
	c := &workers{
		workers:  make([]worker, int(firstSlot)+total),
		messages: make([]message, int(firstSlot)+total),
		finished: make(chan struct{}),
		failed:   big.NewOutcome(),
	}
	for number := range total {
		w := &c.workers[int(firstSlot)+number]
		w.rules = job.NewWorker(number, big.Clock)
		w.first = firstSlot + slot(number-job.Index(number))
	}
	for range runtime.GOMAXPROCS(0) {
		c.processors = append(c.processors, newProcessor(total))
	}
	c.unfinished.Store(int64(total))
	return c
}

// Gather implements big.Workers: it starts the processors, which wait for work.
func (c *workers) Gather() error {
	for _, p := range c.processors {
		c.bench.sleepers = append(c.bench.sleepers, p)
		c.ended.Go(func() {
			<-p.wake
			if err := c.serve(p); err != nil {
				c.failed.Set(err)
			}
		})
	}
	return nil
}

// KickOff implements big.Workers. It assigns workers to the processors in turn. Neighbours end up on the same
// processor by themselves, because a message wakes its receiver on the processor of the sender.
func (c *workers) KickOff() error {
	for at := firstSlot; int(at) < len(c.workers); at++ {
		c.messages[at].from = kickOff
		if c.workers[at].inbox.putPong() {
			c.processors[int(at)%len(c.processors)].queue.push(at)
		}
	}
	c.bench.begin()
	return nil
}

// serve runs the workers in a processor's queue until the bench is closed or a rule is broken.
func (c *workers) serve(p *processor) error {
	for {
		if p.queue.length() == 0 {
			if !c.bench.sit(p) {
				return nil
			}
			continue
		}
		if err := c.run(p, p.queue.pop()); err != nil {
			return err
		}
		if c.bench.waiting.Load() != 0 && p.queue.length() >= shareFrom {
			c.bench.share(p)
		}
	}
}

// run makes a worker handle the messages in its mailbox, in the study's order: the pong, then the pings.
func (c *workers) run(p *processor, self slot) error {
	w := &c.workers[self]
	back, at := w.inbox.takeAll()
	if back {
		if err := c.pingNext(p, w, self); err != nil {
			return err
		}
	}
	for at != vacant {
		ping := &c.messages[at]
		from, next := ping.from, ping.next
		if err := w.rules.Ping(int(from - w.first)); err != nil {
			return err
		}
		ping.from = self
		if c.workers[from].inbox.putPong() {
			p.queue.push(from)
		}
		at = next
	}
	if !w.inbox.rest() {
		p.queue.push(self)
	}
	return nil
}

// pingNext counts the pong that has arrived and sends the worker's message as the next ping, unless the limit
// is reached.
func (c *workers) pingNext(p *processor, w *worker, self slot) error {
	own := &c.messages[self]
	if own.from != kickOff {
		if err := w.rules.Pong(int(own.from - w.first)); err != nil {
			return err
		}
	}
	target, more := w.rules.Next()
	if !more {
		c.finish()
		return nil
	}
	own.from = self
	to := w.first + slot(target)
	if c.workers[to].inbox.putPing(c.messages, self) {
		p.queue.push(to)
	}
	return nil
}

// finish counts a worker that has reached its limit.
func (c *workers) finish() {
	if c.unfinished.Add(-1) == 0 {
		close(c.finished)
	}
}

// AwaitFinish implements big.Workers.
func (c *workers) AwaitFinish() error {
	if err := c.failed.Await(c.finished); err != nil {
		return fmt.Errorf("workers on run queues: %w", err)
	}
	return nil
}

// Dismiss implements big.Workers.
func (c *workers) Dismiss() error {
	c.bench.close()
	c.ended.Wait()
	if err := c.failed.Result(); err != nil {
		return fmt.Errorf("workers on run queues: %w", err)
	}
	return nil
}

// Account implements big.Workers.
func (c *workers) Account() big.Account {
	var rules []*big.Worker
	for at := firstSlot; int(at) < len(c.workers); at++ {
		rules = append(rules, c.workers[at].rules)
	}
	account := big.NewAccount(rules...)
	account.Core = &big.CoreAccount{Registered: len(rules), Finished: len(rules)}
	return account
}
