package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// tally counts the trials at one rate.
type tally struct {
	passed, failed int
}

// grid holds the results of the trials so far, by rate.
type grid map[float64]tally

// add counts a trial.
func (g grid) add(rate float64, pass bool) {
	t := g[rate]
	if pass {
		t.passed++
	} else {
		t.failed++
	}
	g[rate] = t
}

// passes reports whether the majority of the trials at a rate passed; a tie fails.
func (g grid) passes(rate float64) bool { return g[rate].passed > g[rate].failed }

// rates lists the rates tried, in order.
func (g grid) rates() []float64 { return slices.Sorted(maps.Keys(g)) }

// around returns the bracket between a rate, which passes or fails, and the nearest rate above or below
// it with the opposite result.
func (g grid) around(rate float64, pass bool) (low, high float64) {
	rates := g.rates()
	if pass {
		for _, r := range rates {
			if r > rate && !g.passes(r) {
				return rate, r
			}
		}
		return rate, math.Inf(1)
	}
	for _, r := range slices.Backward(rates) {
		if r < rate && g.passes(r) {
			return r, rate
		}
	}
	return 0, rate
}

// String returns how often each rate passed: "500/s 1 of 1, 700/s 1 of 3".
func (g grid) String() string {
	var all []string
	for _, rate := range g.rates() {
		t := g[rate]
		all = append(all, fmt.Sprintf("%g/s %d of %d", rate, t.passed, t.passed+t.failed))
	}
	return strings.Join(all, ", ")
}
