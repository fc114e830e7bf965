package big

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Reception is the core's list of registered workers, which cores embed. It is safe for concurrent use. Cores
// that serve their workers concurrently take its methods Gather and AwaitFinish; others have their own.
type Reception struct {
	job        Job
	mu         sync.Mutex    // guards finished, and addresses until all workers have registered
	addresses  []string      // in the order of registration; sorted once all have registered
	finished   int           // workers
	registered chan struct{} // closed when all workers have registered
	done       chan struct{} // closed when all workers have finished
	failed     Outcome
}

// NewReception returns the reception of a job, with no worker registered.
func NewReception(job Job) *Reception {
	return &Reception{job: job, registered: make(chan struct{}), done: make(chan struct{}), failed: NewOutcome()}
}

// Register adds a worker's address and reports whether all workers have registered. If they had before, it
// returns an error and fails the trial.
func (r *Reception) Register(address string) (complete bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.addresses) == r.job.Total() {
		err := fmt.Errorf("worker %q registers, but all %d workers have registered", address, r.job.Total())
		r.Fail(err)
		return false, err
	}
	r.addresses = append(r.addresses, address)
	if complete = len(r.addresses) == r.job.Total(); complete {
		slices.SortFunc(r.addresses, compareAddresses)
		close(r.registered)
	}
	return complete, nil
}

// compareAddresses compares hosts and ports by their numbers, and other addresses as texts.
func compareAddresses(a, b string) int {
	first, err := netip.ParseAddrPort(a)
	second, err2 := netip.ParseAddrPort(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return first.Compare(second)
}

// Finish counts a worker that has reached its limit and reports whether it was the last one.
func (r *Reception) Finish() (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished++
	if last = r.finished == r.job.Total(); last {
		close(r.done)
	}
	return last
}

// Fail makes Gather or AwaitFinish return the error, unless there was one before.
func (r *Reception) Fail(err error) { r.failed.Set(err) }

// Gather returns nil when every worker has registered, or the error of Fail.
func (r *Reception) Gather() error { return r.failed.Await(r.registered) }

// AwaitFinish returns nil when every worker has finished, or the error of Fail.
func (r *Reception) AwaitFinish() error { return r.failed.Await(r.done) }

// Addresses returns the addresses of all workers, once all have registered, in ascending order. If the
// deployer assigns addresses in that order, it is the order of worker numbers.
func (r *Reception) Addresses() []string { return r.addresses }

// NeighbourhoodOf returns the addresses of the neighbourhood of a worker, whose number is its place in
// Addresses. It does not depend on the order of registration. Cores call it within the measured time, so it
// only slices.
func (r *Reception) NeighbourhoodOf(worker int) []string {
	first := worker - r.job.Index(worker)
	return r.addresses[first : first+r.job.Workers]
}

// Account implements Workers for the process of a core.
func (r *Reception) Account() Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	account := NewAccount()
	account.Core = &CoreAccount{Registered: len(r.addresses), Finished: r.finished}
	return account
}
