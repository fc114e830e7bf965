package resilient

import "sync"

// savings is the number of calls whose retries are paid for before the first one.
const savings = 50

// budget bounds retries as Finagle and gRPC do: calls pay in, retries take out. That of
// failsafe-go bounds the share of retries among what is in flight, and calls that wait for their retry are in
// flight, too: where failures are quick, it lets nearly all retries through.
type budget struct {
	mu      sync.Mutex
	retries float64
}

// earn pays for a part of a retry.
func (b *budget) earn(part float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries = min(b.retries+part, savings*part)
}

// refund puts back a retry that was paid for and not sent.
func (b *budget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries++
}

// pay takes out a retry and reports whether there was one.
func (b *budget) pay() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retries < 1 {
		return false
	}
	b.retries--
	return true
}
