package queueing

import (
	"math"
	"testing"
)

// TestFormulas compares the formulas with known results.
func TestFormulas(t *testing.T) {
	// Response times of M/M/1 at half load, 1 ms: p99 = ln(100)/500 s.
	if got := CapacityMM1(0.99, 0.001, math.Log(100)/500); math.Abs(got-500) > 1e-9 {
		t.Errorf("M/M/1: %g/s, want 500/s", got)
	}
	// No wait: 1 - rho. Within one service: (1 - rho) e^rho.
	for _, c := range []struct{ t, want float64 }{{0, 0.4}, {0.0005, 0.4 * math.Exp(0.3)}} {
		if got := waitsMD1(600, 0.001, c.t); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("M/D/1: P(W <= %g) = %g, want %g", c.t, got, c.want)
		}
	}
	// The mean wait is rho d / (2 (1 - rho)) (Pollaczek and Khinchine): integrate the tail.
	const step = 0.000002
	var mean float64
	for at := step / 2; at < 0.015; at += step {
		mean += step * (1 - waitsMD1(600, 0.001, at))
	}
	if want := 0.6 * 0.001 / (2 * 0.4); math.Abs(mean-want) > 1e-3*want {
		t.Errorf("M/D/1: mean wait %g s, want %g s", mean, want)
	}
	// The capacity is where the share is just met.
	const limit, enough = 0.0025, 0.9
	capacity := CapacityMD1(enough, 0.0005, limit)
	if share := waitsMD1(capacity, 0.0005, limit-0.0005); math.Abs(share-enough) > 1e-9 {
		t.Errorf("M/D/1: at its capacity of %g/s %g meet the objective, want %g", capacity, share, enough)
	}
}
