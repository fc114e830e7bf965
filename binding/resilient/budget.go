package resilient

import "sync"

// budgetCalls is the number of calls whose retries a budget holds at the beginning, and at most.
const budgetCalls = 50

// budget bounds retries as Finagle and gRPC do: each call adds a part of a retry, each retry takes one away.
// The budget of failsafe-go bounds the share of retries among the calls in flight, but counts calls that wait
// for their retry as in flight: if calls fail fast, it lets nearly all retries through.
type budget struct {
	part    float64 // of a retry, that each call adds
	mu      sync.Mutex
	retries float64 // that are left
}

// newBudget returns a full budget.
func newBudget(part float64) *budget { return &budget{part: part, retries: budgetCalls * part} }

// add adds retries, up to the size of the budget: the part of a call, or a retry that was taken but not sent.
// A nil budget ignores it.
func (b *budget) add(retries float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries = min(b.retries+retries, budgetCalls*b.part)
}

// take takes a retry and reports whether there was one.
func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retries < 1 {
		return false
	}
	b.retries--
	return true
}
