package model

import (
	"math"
	"testing"
	"time"
)

// rated returns a model whose calls take 2 ms of CPU time, 1.6 ms of it in the components, with measured
// CPU times in milliseconds by rate.
func rated(measured map[float64]float64) Model {
	ms := func(n float64) Distribution {
		return Distribution{Mean: time.Duration(n * 1e6), Source: Meter, N: 100}
	}
	m := Model{Operations: []Operation{{Weight: 3, Call: Call{Component: "a", Count: 1, CPU: ms(0.8),
		Wait: ms(5), Calls: []Call{{Component: "b", Count: 2, CPU: ms(0.4), Hop: &Hop{CPU: ms(0.1), Wait: ms(1)},
			Visits: []Visit{{Store: "db", Wait: ms(3), CPU: ms(0.1)}}}}}}}}
	for rate, cpu := range measured {
		m.Measured = append(m.Measured, Measurement{Rate: rate, CPU: ms(cpu)})
	}
	return m
}

// TestCPUTimesAtARate: at a measured rate the CPU time is that measurement. It is linear in the logarithm
// of the rate between two rates, and constant beyond them. Waiting does not change.
func TestCPUTimesAtARate(t *testing.T) {
	m := rated(map[float64]float64{20: 4, 80: 2, 320: 1})
	// A measurement in another placement must not count.
	elsewhere := m.Measured[0]
	elsewhere.Placement = "b"
	elsewhere.Rate = 40
	m.Measured = append(m.Measured, elsewhere)
	for rate, want := range map[float64]float64{5: 4, 20: 4, 40: 3, 80: 2, 160: 1.5, 320: 1, 1000: 1} {
		at := m.AtRate(rate, m.RatedCPU())
		if got := 1000 * at.CPU(); math.Abs(got-want) > 1e-4 {
			t.Errorf("at %g/s an operation takes %g ms of CPU time, want %g", rate, got, want)
		}
		b := at.Operations[0].Call.Calls[0]
		if b.Hop.Wait.Mean != time.Millisecond || b.Visits[0].Wait.Mean != 3*time.Millisecond {
			t.Errorf("at %g/s the waiting has changed: %+v", rate, b)
		}
	}
	if got := 1000 * m.CPU(); math.Abs(got-2) > 1e-9 {
		t.Errorf("the model itself has changed: %g ms", got)
	}
	for _, few := range []map[float64]float64{nil, {20: 4}} {
		if m := rated(few); math.Abs(1000*m.AtRate(100, m.RatedCPU()).CPU()-2) > 1e-9 {
			t.Errorf("measured at %d rates, the CPU times have changed", len(few))
		}
	}
}

// TestRatesThatAreTheSame: trials of one planned rate have nearly the same rate, so they give one value, the
// mean, at the lowest of their rates.
func TestRatesThatAreTheSame(t *testing.T) {
	m := rated(map[float64]float64{59: 3, 60: 2, 61: 1, 120: 1})
	got := m.RatedCPU()
	if len(got) != 2 || got[0].Rate != 59 || math.Abs(got[0].Value-0.002) > 1e-9 || got[1].Rate != 120 ||
		math.Abs(got[1].Value-0.001) > 1e-9 {
		t.Errorf("%+v, want 2 ms at 59/s and 1 ms at 120/s", got)
	}
}
