package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Arrivals yields the intended starts of operations, as time since the
// beginning of the load, never decreasing. After the last one ok is false.
type Arrivals interface {
	Next() (due time.Duration, ok bool)
}

// Schedule is a plan of arrivals over time. It is immutable and may be shared;
// the zero value has no arrivals.
type Schedule struct {
	parts []part
}

// part is a piece of a schedule with its own kind of arrivals.
type part struct {
	profile  profile // of the rate; empty for recorded times
	random   bool    // Poisson arrivals instead of evenly spaced ones
	jittered bool    // each somewhere in its own interval instead of at its beginning
	seed     uint64
	times    []time.Duration // recorded, instead of a profile
	duration time.Duration
}

// Constant has evenly spaced arrivals: the first at 0, number i at i/rate.
//
//	rate      operations per second
//	duration  no arrival is due at or after it
func Constant(rate float64, duration time.Duration) (Schedule, error) {
	return Steps([]Step{{Rate: rate, Duration: duration}})
}

// Poisson has independent, exponentially distributed gaps with mean 1/rate: what
// many users who know nothing of each other produce. The number of arrivals is
// itself random, with mean and variance rate*duration. Equal seeds give equal
// arrivals.
//
//	rate      operations per second
//	duration  no arrival is due at or after it
func Poisson(rate float64, duration time.Duration, seed uint64) (Schedule, error) {
	s, err := Constant(rate, duration)
	return s.Random(seed), err
}

// Ramp changes the rate linearly over the duration. One of the two rates may be
// zero.
//
//	from, to  operations per second, at the beginning and at the end
func Ramp(from, to float64, duration time.Duration) (Schedule, error) {
	return even([]phase{{from: from, to: to, duration: duration}})
}

// Step is a time at one rate.
type Step struct {
	Rate     float64 // operations per second; zero is a pause
	Duration time.Duration
}

// Steps plays one rate after the other. The spacing runs on across a change of
// rate, so that no step begins with an extra operation.
func Steps(steps []Step) (Schedule, error) {
	phases := make([]phase, len(steps))
	for i, step := range steps {
		phases[i] = phase{from: step.Rate, to: step.Rate, duration: step.Duration}
	}
	return even(phases)
}

// Replay repeats recorded arrivals: times since the beginning, never decreasing.
// The schedule ends one nanosecond after the last of them.
func Replay(times []time.Duration) (Schedule, error) {
	if len(times) == 0 {
		return Schedule{}, errors.New("replay: no recorded arrivals")
	}
	last := time.Duration(0)
	for i, at := range times {
		if at < last {
			return Schedule{}, fmt.Errorf("replay: arrival %d is due at %v, before %v: sort the times and begin at "+
				"0 or later", i+1, at, last)
		}
		last = at
	}
	return Schedule{[]part{{times: append([]time.Duration(nil), times...), duration: last + 1}}}, nil
}

// Concat plays schedules one after the other. Each begins anew: evenly spaced
// arrivals with one at its own beginning.
func Concat(schedules ...Schedule) Schedule {
	var all Schedule
	for _, s := range schedules {
		all.parts = append(all.parts, s.parts...)
	}
	return all
}

// Random has Poisson arrivals at the rates of s instead of evenly spaced ones;
// recorded times stay. Each part draws from its own stream of the seed.
func (s Schedule) Random(seed uint64) Schedule {
	parts := append([]part(nil), s.parts...)
	for i := range parts {
		parts[i].random, parts[i].seed = true, seed+uint64(i)
	}
	return Schedule{parts}
}

// Jittered has each arrival of s at a random moment of its own interval: as many as the
// evenly spaced ones, which keep in step with timers of what is loaded. Recorded times
// stay. Each part draws from its own stream of the seed.
func (s Schedule) Jittered(seed uint64) Schedule {
	parts := append([]part(nil), s.parts...)
	for i := range parts {
		parts[i].jittered, parts[i].seed = true, seed+uint64(i)
	}
	return Schedule{parts}
}

// Duration returns the time after which nothing is due any more.
func (s Schedule) Duration() time.Duration {
	var sum time.Duration
	for _, p := range s.parts {
		sum += p.duration
	}
	return sum
}

// Offered returns the expected number of arrivals in [from, to). It is exact to one
// for evenly spaced arrivals; the actual number of Poisson arrivals scatters
// around it, so compare what was achieved with Count.
func (s Schedule) Offered(from, to time.Duration) float64 {
	var n float64
	for _, p := range s.parts {
		n += p.before(to) - p.before(from)
		from, to = from-p.duration, to-p.duration
	}
	return n
}

// OfferedRate returns the mean expected rate in [from, to), in operations per second.
func (s Schedule) OfferedRate(from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return s.Offered(from, to) / (to - from).Seconds()
}

// Count returns the number of arrivals in [from, to). It walks through the schedule,
// some ten million arrivals per second.
func (s Schedule) Count(from, to time.Duration) int64 {
	var n int64
	for a := s.Arrivals(); ; {
		due, ok := a.Next()
		if !ok || due >= to {
			return n
		}
		if due >= from {
			n++
		}
	}
}

// before returns the expected number of arrivals of a part before a time since its
// beginning.
func (p part) before(t time.Duration) float64 {
	if p.times == nil {
		return p.profile.before(t)
	}
	n := 0
	for n < len(p.times) && p.times[n] < t {
		n++
	}
	return float64(n)
}
