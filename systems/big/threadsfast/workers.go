package threadsfast

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cleave-lab/cleave/systems/big"
)

// worker is a worker with its mailbox. Its neighbours in memory may belong to
// another processor, hence the distance.
type worker struct {
	inbox mailbox
	first place // of the first worker of its neighbourhood
	rules *big.Worker
	_     [cacheLine - 16]byte
}

// workers are those of a job, all in this process.
type workers struct {
	workers    []worker  // by place
	messages   []message // by place of the worker whose ping it is
	processors []*processor
	bench      bench
	unfinished atomic.Int64
	finished   chan struct{}
	broken     big.Outcome // the first worker that broke off
	ended      sync.WaitGroup
}

// NewWorkers returns the workers of the job; nothing runs before Gather.
func NewWorkers(job big.UnitJob) big.Workers {
	total := job.Total()
	c := &workers{
		workers:  make([]worker, int(firstPlace)+total),
		messages: make([]message, int(firstPlace)+total),
		finished: make(chan struct{}),
		broken:   big.NewOutcome(),
	}
	for number := range total {
		w := &c.workers[int(firstPlace)+number]
		w.rules = job.NewWorker(number, big.Clock)
		w.first = firstPlace + place(number-job.Index(number))
	}
	for range runtime.GOMAXPROCS(0) {
		c.processors = append(c.processors, newProcessor(total))
	}
	c.unfinished.Store(int64(total))
	return c
}

// Gather implements big.Workers: it starts the processors, which sit idle.
func (c *workers) Gather() error {
	for _, p := range c.processors {
		c.bench.sleepers = append(c.bench.sleepers, p)
		c.ended.Go(func() {
			<-p.wake
			if err := c.serve(p); err != nil {
				c.broken.Tell(err)
			}
		})
	}
	return nil
}

// KickOff implements big.Workers. Workers are dealt out to the processors in turn:
// neighbours get together by themselves, because a message wakes its receiver
// on the processor of the sender.
func (c *workers) KickOff() error {
	for at := firstPlace; int(at) < len(c.workers); at++ {
		c.messages[at].from = kickOff
		if c.workers[at].inbox.putPong() {
			c.processors[int(at)%len(c.processors)].queue.push(at)
		}
	}
	c.bench.begin()
	return nil
}

// serve runs workers until they are dismissed or a rule is broken.
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

// run lets a worker handle what is in its mailbox, in the study's order: the
// pong, then the pings.
func (c *workers) run(p *processor, self place) error {
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

// pingNext takes the pong that has come and sends the worker's message out
// again, unless the limit is reached.
func (c *workers) pingNext(p *processor, w *worker, self place) error {
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
	to := w.first + place(target)
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
	if err := c.broken.Await(c.finished); err != nil {
		return fmt.Errorf("workers on run queues: %w", err)
	}
	return nil
}

// Dismiss implements big.Workers.
func (c *workers) Dismiss() error {
	c.bench.close()
	c.ended.Wait()
	select {
	case err := <-c.broken:
		return fmt.Errorf("workers on run queues: %w", err)
	default:
		return nil
	}
}

// Account implements big.Workers.
func (c *workers) Account(startNs, endNs int64) big.Account {
	var rules []*big.Worker
	for at := firstPlace; int(at) < len(c.workers); at++ {
		rules = append(rules, c.workers[at].rules)
	}
	account := big.NewAccount(rules...)
	account.Core = &big.CoreAccount{Registered: len(rules), Finished: len(rules), StartNs: startNs, EndNs: endNs}
	return account
}
