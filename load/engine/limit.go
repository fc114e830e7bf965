package engine

import "time"

// Limit keeps flows from beginning faster than permitted. It lets n flows begin in any n/rate seconds,
// about one second, where n is the whole part of the rate. The zero value permits any rate.
type Limit struct {
	window time.Duration
	begun  []time.Duration // the last n, as a ring
	next   int             // place of the oldest
}

// maxBurst bounds the memory of a limit; for higher rates the window is shorter.
const maxBurst = 10_000

// NewLimit permits a rate in flows per second; zero or less permits any rate.
func NewLimit(rate float64) Limit {
	if rate <= 0 {
		return Limit{}
	}
	n := int(min(max(rate, 1), maxBurst))
	l := Limit{window: time.Duration(float64(n) / rate * 1e9), begun: make([]time.Duration, n)}
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
