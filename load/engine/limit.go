package engine

import (
	"math"
	"time"
)

// Limit keeps flows from beginning faster than permitted. It lets n flows begin in any n/rate seconds, where
// n is the rate rounded up: n flows in any second at most, and the rate on average. Rates above maxBurst have
// a smaller n. The zero value permits any rate.
type Limit struct {
	window time.Duration
	begun  []time.Duration // the last n, as a ring
	next   int             // place of the oldest
}

// maxBurst bounds the memory of a limit. Higher rates are permitted in equal parts of a second, each part
// rounded up.
const maxBurst = 10_000

// NewLimit permits a rate in flows per second; zero or less permits any rate.
func NewLimit(rate float64) Limit {
	if rate <= 0 {
		return Limit{}
	}
	parts := math.Ceil(rate / maxBurst)
	n := math.Ceil(rate / parts)
	const longest = math.MaxInt64 / 4 // so that no sum of times overflows
	window := min(n/rate*1e9, longest)
	l := Limit{window: time.Duration(window), begun: make([]time.Duration, int(n))}
	for i := range l.begun {
		l.begun[i] = -l.window
	}
	return l
}

// From returns when the next flow may begin.
func (l *Limit) From() time.Duration {
	if l.window == 0 {
		return 0
	}
	return l.begun[l.next] + l.window
}

// Take notes that a flow begins.
func (l *Limit) Take(now time.Duration) {
	if l.window == 0 {
		return
	}
	l.begun[l.next] = now
	if l.next++; l.next == len(l.begun) {
		l.next = 0
	}
}
