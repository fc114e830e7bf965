package schedule

import (
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals returns a walk through the schedule from its beginning. Walks are independent of each other. A
// walk allocates only here; one goroutine may use it at a time.
func (s Schedule) Arrivals() Arrivals {
	w := &walk{Schedule: s}
	if len(s.profile) > 0 {
		w.limit = s.profile[0].total()
	}
	if s.random || s.jittered {
		const stream = 0x9e3779b97f4a7c15 // any constant; it separates our numbers from other uses of the seed
		w.gaps = gaps{rand.NewPCG(s.seed, stream)}
	}
	if s.random {
		w.expected.add(w.gaps.next())
	}
	return w
}

// walk is the position of a walk through a schedule.
type walk struct {
	Schedule
	phase    int     // current phase of the profile
	i        int64   // arrivals so far
	expected sum     // of exponential gaps with mean 1
	gaps     gaps    // of a random or jittered schedule
	limit    float64 // expected arrivals before the end of the phase
}

// Next returns the next due time.
func (w *walk) Next() (time.Duration, bool) {
	due, ok := w.next()
	return due, ok && due < w.duration
}

// next is Next without the limit of the duration.
func (w *walk) next() (time.Duration, bool) {
	i := w.i
	w.i++
	switch {
	case w.times != nil && i < int64(len(w.times)):
		return w.times[i], true
	case len(w.profile) == 0:
		return 0, false
	}
	n := float64(i)
	switch {
	case w.random:
		n = w.expected.value()
		w.expected.add(w.gaps.next())
	case w.jittered:
		n += w.gaps.uniform()
	}
	return w.when(n)
}

// when returns the time before which n arrivals are expected. It finds the phase and inverts its
// equation. Rounding must not move a time out of its phase.
func (w *walk) when(n float64) (time.Duration, bool) {
	for n >= w.limit {
		if w.phase++; w.phase == len(w.profile) {
			w.phase--
			return 0, false
		}
		w.limit = w.profile[w.phase].first + w.profile[w.phase].total()
	}
	ph := w.profile[w.phase]
	seconds := ph.at(max(0, n-ph.first))
	in := time.Duration(math.Round(seconds * 1e9))
	return ph.start + min(in, ph.duration), true
}

// gaps draws exponential gaps with mean 1, by inverting the distribution (Devroye 1986, section II.2), so
// that one gap takes exactly one draw.
type gaps struct {
	source *rand.PCG
}

// next returns a gap: -ln(1-u), with u uniform in [0, 1).
func (g gaps) next() float64 { return -math.Log1p(-g.uniform()) }

// uniform returns a number that is uniform in [0, 1).
func (g gaps) uniform() float64 { return float64(g.source.Uint64()>>11) / (1 << 53) }

// Share returns every of-th arrival, beginning with number index: the part of one engine if several play
// one schedule. Together the parts are the whole.
func Share(a Arrivals, index, of int) Arrivals {
	return &share{a, index, of - 1}
}

// share skips the arrivals of other parts.
type share struct {
	all  Arrivals
	skip int // number of arrivals to skip before the next own one
	gap  int // number of others' arrivals between two own ones
}

// Next returns the next own due time.
func (s *share) Next() (time.Duration, bool) {
	for ; s.skip > 0; s.skip-- {
		if _, ok := s.all.Next(); !ok {
			return 0, false
		}
	}
	s.skip = s.gap
	return s.all.Next()
}
