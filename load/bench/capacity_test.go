//go:build linux

package main

import (
	"math"
	"testing"
)

// TestTheoryOfTheStands holds the formulas against numbers from elsewhere.
func TestTheoryOfTheStands(t *testing.T) {
	// Response times of M/M/1 at half load, 1 ms: p99 = ln(100)/500 s.
	if got := capacityMM1(0.99, 0.001, math.Log(100)/500); math.Abs(got-500) > 1e-9 {
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
	capacity := capacityMD1(standShare, standTime.Seconds(), standLimit.Seconds())
	if share := waitsMD1(capacity, standTime.Seconds(),
		(standLimit - standTime).Seconds()); math.Abs(share-standShare) > 1e-9 {
		t.Errorf("M/D/1: at its capacity of %g/s %g meet the objective, want %g", capacity, share, standShare)
	}
}

func TestMemoryThatGrowsIsSeen(t *testing.T) {
	var flat, growing []float64
	for i := range 100 {
		flat = append(flat, 10e6)
		growing = append(growing, 10e6+1e5*float64(i))
	}
	s := samples{}
	for name, values := range map[string][]float64{"flat": flat, "growing": growing} {
		if err := s.addMemory(name, append(values, 25e6)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s["memory growth"]["flat"][0]; got != 0 {
		t.Errorf("flat memory grows by %g MB", got)
	}
	// from the 25th to the 95th of a hundred
	if got := s["memory growth"]["growing"][0]; math.Abs(got-7) > 1e-9 {
		t.Errorf("memory grows by %g MB, want 7", got)
	}
	if got := s["memory peak"]["growing"][0]; got != 25 {
		t.Errorf("the peak is %g MB, want 25", got)
	}
	if s.addMemory("short", flat[:10]) == nil {
		t.Error("ten looks at the memory are enough")
	}
}
