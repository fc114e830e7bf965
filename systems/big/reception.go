package big

import "sync"

// Reception is a Roll for cores that serve their workers concurrently. Cores embed it: it implements the
// methods Gather and AwaitFinish of Workers. It is safe for concurrent use.
type Reception struct {
	mu         sync.Mutex // guards roll
	roll       *Roll
	registered chan struct{} // closed when all workers have registered
	finished   chan struct{} // closed when all workers have finished
	failed     Outcome
}

// NewReception returns the reception of a job, with no worker registered.
func NewReception(job Job) *Reception {
	return &Reception{
		roll: NewRoll(job), registered: make(chan struct{}), finished: make(chan struct{}), failed: NewOutcome(),
	}
}

// Register adds a worker's address. If all workers have registered, it returns an error and fails the trial.
func (r *Reception) Register(address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	complete, err := r.roll.Register(address)
	if err != nil {
		r.Fail(err)
		return err
	}
	if complete {
		close(r.registered)
	}
	return nil
}

// Finish counts a worker that has reached its limit.
func (r *Reception) Finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.roll.Finish() {
		close(r.finished)
	}
}

// Fail makes Gather or AwaitFinish return the error, unless there was one before.
func (r *Reception) Fail(err error) { r.failed.Set(err) }

// Gather returns nil when every worker has registered, or the error of Fail.
func (r *Reception) Gather() error { return r.failed.Await(r.registered) }

// AwaitFinish returns nil when every worker has finished, or the error of Fail.
func (r *Reception) AwaitFinish() error { return r.failed.Await(r.finished) }

// Neighbourhood returns the addresses of a neighbourhood, as Roll does.
func (r *Reception) Neighbourhood(number int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roll.Neighbourhood(number)
}

// Account returns the account of the core's process, with these times.
func (r *Reception) Account(startNs, endNs int64) Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roll.Account(startNs, endNs)
}
