package big

import "sync"

// Reception is the Roll of a core that serves its workers concurrently. It has the methods of Workers that
// wait, which cores take over. All its methods may be called at any time.
type Reception struct {
	mu         sync.Mutex // guards roll
	roll       *Roll
	registered chan struct{} // closed when all workers are there
	finished   chan struct{} // closed when all workers are done
	failed     Outcome
}

// NewReception returns the reception of a job, with nobody there.
func NewReception(job Job) *Reception {
	return &Reception{
		roll: NewRoll(job), registered: make(chan struct{}), finished: make(chan struct{}), failed: NewOutcome(),
	}
}

// Register adds a worker's address. A worker too many is refused and fails the
// trial.
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

// Fail keeps the first failure for the method that waits.
func (r *Reception) Fail(err error) { r.failed.Tell(err) }

// Gather returns when every worker has registered, or with a failure.
func (r *Reception) Gather() error { return r.failed.Await(r.registered) }

// AwaitFinish returns when every worker has finished, or with a failure.
func (r *Reception) AwaitFinish() error { return r.failed.Await(r.finished) }

// Neighbourhood returns the addresses of a neighbourhood, as Roll does.
func (r *Reception) Neighbourhood(number int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roll.Neighbourhood(number)
}

// Account returns the account of the core's process, between the two clock readings.
func (r *Reception) Account(startNs, endNs int64) Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roll.Account(startNs, endNs)
}
