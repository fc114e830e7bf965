package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Arrivals yields the intended starts of operations, as times since the beginning of the load, in
// ascending order. ok is false after the last one.
type Arrivals interface {
	Next() (due time.Duration, ok bool)
}

// Schedule is a plan of arrivals over time. It is immutable and may be shared;
// the zero value has no arrivals.
type Schedule struct {
	profile  profile // of the rate; empty for recorded times
	random   bool    // Poisson arrivals instead of evenly spaced ones
	jittered bool    // each at a random moment of its own interval instead of at its beginning
	seed     uint64
	times    []time.Duration // recorded, instead of a profile
	duration time.Duration
}

// Constant returns evenly spaced arrivals: the first at 0, number i at i/rate.
//
//	rate      operations per second
//	duration  no arrival is due at or after it
func Constant(rate float64, duration time.Duration) (Schedule, error) {
	return Steps([]Step{{Rate: rate, Duration: duration}})
}

// Ramp returns arrivals whose rate changes linearly over the duration. One of the two rates may be zero.
//
//	from, to  operations per second, at the beginning and at the end
func Ramp(from, to float64, duration time.Duration) (Schedule, error) {
	return even([]phase{{from: from, to: to, duration: duration}})
}

// Step is a period of a constant rate.
type Step struct {
	Rate     float64 // operations per second; zero is a pause
	Duration time.Duration
}

// Steps returns arrivals at one rate after the other. The spacing continues across a change of rate, so
// that no step begins with an extra operation.
func Steps(steps []Step) (Schedule, error) {
	phases := make([]phase, len(steps))
	for i, step := range steps {
		phases[i] = phase{from: step.Rate, to: step.Rate, duration: step.Duration}
	}
	return even(phases)
}

// Replay returns recorded arrivals: times since the beginning, in ascending order. The schedule ends one
// nanosecond after the last one.
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

// Random returns Poisson arrivals at the rates of s instead of evenly spaced ones: independent,
// exponentially distributed gaps, as many independent users produce them. The number of arrivals is also
// random; its variance equals its mean. Recorded times stay unchanged. Equal seeds give equal arrivals.
func (s Schedule) Random(seed uint64) Schedule {
	s.random = true
	s.seed = seed
	return s
}

// Jittered returns s with each arrival at a random moment of its own interval. The number of arrivals is
// that of the evenly spaced ones, which could synchronize with timers of the system under load. Recorded
// times stay unchanged.
func (s Schedule) Jittered(seed uint64) Schedule {
	s.jittered = true
	s.seed = seed
	return s
}

// OfferedRate returns the mean expected rate of the first part of the schedule, in operations per second.
func (s Schedule) OfferedRate(part time.Duration) float64 { return s.before(part) / part.Seconds() }

// before returns the expected number of arrivals before a time. For evenly spaced arrivals the error is below
// one; the actual number of Poisson arrivals varies around it.
func (s Schedule) before(t time.Duration) float64 {
	if s.times == nil {
		return s.profile.before(t)
	}
	n, _ := slices.BinarySearch(s.times, t)
	return float64(n)
}
