package resilient

import "sync"

// savings is the number of calls whose retries are paid for before the first one.
const savings = 50

// purse is a budget of retries as Finagle and gRPC have it: calls pay in, retries take out. That of
// failsafe-go bounds the share of retries among what is in flight, and calls that wait for their retry are in
// flight, too: where failures are quick, it lets nearly all retries through.
type purse struct {
	mu      sync.Mutex
	retries float64
}

// earn pays for a part of a retry.
func (p *purse) earn(part float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retries = min(p.retries+part, savings*part)
}

// refund puts back a retry that was paid for and not sent.
func (p *purse) refund() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retries++
}

// pay takes out a retry and reports whether there was one.
func (p *purse) pay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retries < 1 {
		return false
	}
	p.retries--
	return true
}
