package schedule

import (
	"errors"
	"fmt"
	"slices"
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
	return Schedule{times: slices.Clone(times), duration: last + 1}, nil
}

// Random has Poisson arrivals at the rates of s instead of evenly spaced ones: independent, exponentially
// distributed gaps, what many users who know nothing of each other produce. The number of arrivals is itself
// random, with equal mean and variance. Recorded times stay. Equal seeds give equal arrivals.
func (s Schedule) Random(seed uint64) Schedule {
	s.random, s.seed = true, seed
	return s
}

// Jittered has each arrival of s at a random moment of its own interval: as many as the
// evenly spaced ones, which keep in step with timers of what is loaded. Recorded times
// stay.
func (s Schedule) Jittered(seed uint64) Schedule {
	s.jittered, s.seed = true, seed
	return s
}

// Offered returns the expected number of arrivals in [from, to). It is exact to one
// for evenly spaced arrivals; the actual number of Poisson arrivals scatters around it.
func (s Schedule) Offered(from, to time.Duration) float64 { return s.before(to) - s.before(from) }

// OfferedRate returns the mean expected rate of the first part of the schedule, in operations per second.
func (s Schedule) OfferedRate(part time.Duration) float64 { return s.before(part) / part.Seconds() }

// before returns the expected number of arrivals before a time.
func (s Schedule) before(t time.Duration) float64 {
	if s.times == nil {
		return s.profile.before(t)
	}
	n, _ := slices.BinarySearch(s.times, t)
	return float64(n)
}
