package schedule

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// phase is a part of a profile in which the rate changes linearly.
type phase struct {
	from, to float64 // operations per second
	duration time.Duration
	// start is the time from the beginning of the schedule to that of the phase, and first the expected
	// number of arrivals before it.
	start time.Duration
	first float64
}

// profile is a rate over time: phases without gaps.
type profile []phase

// even returns a schedule of evenly spaced arrivals along phases.
func even(phases []phase) (Schedule, error) {
	p, err := newProfile(phases)
	if err != nil {
		return Schedule{}, err
	}
	return Schedule{profile: p, duration: p.end()}, nil
}

// newProfile returns a profile of phases, and sets where each begins. The error names all mistakes.
func newProfile(phases []phase) (profile, error) {
	var mistakes []error
	var start time.Duration
	var n sum
	for i := range phases {
		ph := &phases[i]
		if err := errors.Join(checkPart(ph.from), checkPart(ph.to), checkDuration(ph.duration)); err != nil {
			mistakes = append(mistakes, fmt.Errorf("schedule, part %d of %d: %w", i+1, len(phases), err))
			continue
		}
		if start > math.MaxInt64-ph.duration {
			return nil, fmt.Errorf("schedule: longer than %v in all", time.Duration(math.MaxInt64))
		}
		ph.start = start
		ph.first = n.value()
		start += ph.duration
		n.add(ph.total())
	}
	if len(mistakes) == 0 && !(n.value() > 0) {
		mistakes = append(mistakes, errors.New("schedule: no operation is ever due: give a rate above zero"))
	}
	return phases, errors.Join(mistakes...)
}

// end returns the duration of the profile.
func (p profile) end() time.Duration {
	last := p[len(p)-1]
	return last.start + last.duration
}

// total returns the expected number of arrivals of the phase.
func (ph phase) total() float64 {
	return (ph.from + ph.to) / 2 * ph.duration.Seconds()
}

// before returns the expected number of arrivals before a time:
//
//	n(t) = a t + (b - a) t^2 / (2 D)
//
//	n     arrivals
//	t     seconds since the beginning of the phase
//	a, b  rates at its beginning and end, operations per second
//	D     its duration, seconds
func (p profile) before(t time.Duration) float64 {
	var n sum
	for _, ph := range p {
		in := min(max(t-ph.start, 0), ph.duration).Seconds()
		change := ph.to - ph.from
		n.add(ph.from*in + change*in*in/(2*ph.duration.Seconds()))
	}
	return n.value()
}

// at returns the time since the beginning of the phase, in seconds, before which n arrivals are expected.
// It inverts n(t) in a form that neither divides by zero if the rate is constant nor loses digits if it
// falls:
//
//	t = 2 n / (a + sqrt(a^2 + 2 (b - a) n / D))
func (ph phase) at(n float64) float64 {
	switch {
	case n == 0: // the rate may be zero, too
		return 0
	case ph.from == ph.to:
		return n / ph.from
	}
	change := ph.to - ph.from
	square := ph.from*ph.from + 2*change*n/ph.duration.Seconds()
	return 2 * n / (ph.from + math.Sqrt(max(0, square)))
}

// sum adds numbers with compensation, so that the error does not grow with their count (Neumaier 1974).
type sum struct {
	high, low float64
}

// add adds a number.
func (s *sum) add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

// value returns the sum so far.
func (s *sum) value() float64 { return s.high + s.low }
