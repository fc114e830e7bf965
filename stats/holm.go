package stats

import (
	"cmp"
	"slices"
)

// Holm returns the p-values adjusted for the family they form (Holm 1979): an
// adjusted value at or below alpha keeps the chance of any false finding in the
// family at or below alpha, however the tests depend on each other.
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range ascending(p) {
		left := float64(len(p) - rank)
		highest = max(highest, min(1, p[i]*left))
		adjusted[i] = highest
	}
	return adjusted
}

// HolmLevels returns the confidence level at which to draw each interval so
// that it excludes "no difference" exactly where Holm's adjusted p-value is at
// most 1 - confidence. The k-th smallest of m p-values is drawn at
// 1 - alpha/(m-k+1); from the first one that is not significant on, all are
// drawn at that one's level. These step-down intervals (Serlin 1993) bound the
// chance that any of them wrongly excludes 1; they are decisions drawn as
// intervals. Where all values must be covered at once use 1 - alpha/m
// (Bonferroni).
func HolmLevels(p []float64, confidence float64) []float64 {
	alpha := 1 - confidence
	levels := make([]float64, len(p))
	stopped, level := false, confidence
	for rank, i := range ascending(p) {
		if !stopped {
			share := alpha / float64(len(p)-rank)
			level, stopped = 1-share, p[i] > share
		}
		levels[i] = level
	}
	return levels
}

// ascending returns the indices of the values from smallest to largest.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}
