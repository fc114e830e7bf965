package stats

import (
	"cmp"
	"math"
	"slices"
)

// Change is a change of the level of a series of positive numbers.
type Change struct {
	Index int     // of the first value of the new level
	Ratio float64 // geometric mean of the new level over that of the level before
	P     float64 // of Student's t between both, on the logarithms
}

// changeWindow is the number of values of a window that is searched for changes. The next window begins half
// a window later, or at the last change found if that is later still.
const changeWindow = 50

// ShortestSeries is the number of values that Changes needs.
const ShortestSeries = 10

const (
	// changeP is the p-value below which a candidate is a change.
	changeP = 0.001
	// candidateP is the p-value below which a window is split. It is the larger one because other changes
	// in the window hide a change at first.
	candidateP = 10 * changeP
)

// Changes returns the places where the level of a series of positive values changes, oldest first. Candidates
// come from E-Divisive (Matteson and James 2014) in overlapping windows, with a t-test in place of
// permutations, which makes it deterministic. Candidates are then dropped until all that remain are beyond
// chance and change the level by more than the factor least (Fleming et al. 2023, "Hunter"; Apache Otava).
func Changes(series []float64, least float64) ([]Change, error) {
	values, err := logs("change of level", series)
	if err != nil {
		return nil, err
	}
	if len(values) < ShortestSeries {
		return nil, &TooFewError{"change of level", len(values), ShortestSeries}
	}
	changes := prune(values, candidates(values), math.Log(least))
	for i := range changes {
		changes[i].Ratio = math.Exp(changes[i].Ratio)
	}
	return changes, nil
}

// candidates returns the indexes at which the level may change, in order.
func candidates(values []float64) []int {
	var all []int
	for start := 0; start < len(values); {
		found := splitWindow(values[start:min(start+changeWindow, len(values))])
		next := start + changeWindow/2
		for _, at := range found {
			all = append(all, start+at)
			next = max(next, start+at)
		}
		start = next
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// splitWindow splits a window, again and again, between its two most different parts, and stops when these
// could differ by chance. It returns the indexes of the splits, in order.
func splitWindow(window []float64) []int {
	var found []int
	for {
		best, at := 0.0, 0
		bounds := slices.Concat([]int{0}, found, []int{len(window)})
		for i := range len(bounds) - 1 {
			part := window[bounds[i]:bounds[i+1]]
			if q, split := energy(part); q > best {
				best, at = q, bounds[i]+split
			}
		}
		if at == 0 || testChange(window, found, at).P >= candidateP {
			return found
		}
		found = append(found, at)
		slices.Sort(found)
	}
}

// energy returns the largest energy statistic of two adjacent parts, x[:at] and x[at:end] for any end, and
// its at. The statistic is the mean distance between the parts less that within them, weighted by their
// sizes.
func energy(x []float64) (best float64, at int) {
	n := len(x)
	within := make([][]float64, n+1) // sum of the distances of all pairs in x[a:b]
	for a := range within {
		within[a] = make([]float64, n+1)
	}
	for b := 2; b <= n; b++ {
		distances := 0.0 // of x[b-1] to all from a on
		for a := b - 2; a >= 0; a-- {
			distances += math.Abs(x[a] - x[b-1])
			within[a][b] = within[a][b-1] + distances
		}
	}
	for split := 1; split < n; split++ {
		for end := split + 1; end <= n; end++ {
			first, second := float64(split), float64(end-split)
			across := within[0][end] - within[0][split] - within[split][end]
			q := across
			if split > 1 {
				q -= second * within[0][split] / (first - 1)
			}
			if end-split > 1 {
				q -= first * within[split][end] / (second - 1)
			}
			if q *= 2 / (first + second); q > best {
				best, at = q, split
			}
		}
	}
	return best, at
}

// testChange compares the levels before and after an index, up to the neighbouring changes, by Student's t.
// The Ratio that it returns is still a difference of logarithms.
func testChange(values []float64, changes []int, at int) Change {
	begin, end := 0, len(values)
	for _, other := range changes {
		if other < at {
			begin = max(begin, other)
		} else if other > at {
			end = min(end, other)
		}
	}
	before, after := values[begin:at], values[at:end]
	c := Change{Index: at, Ratio: Mean(after) - Mean(before), P: 1}
	degrees := float64(len(before) + len(after) - 2)
	if degrees < 1 {
		return c
	}
	pooled := (squaredDistances(before) + squaredDistances(after)) / degrees
	inverses := 1/float64(len(before)) + 1/float64(len(after))
	c.P = tTest(c.Ratio, math.Sqrt(pooled*inverses), degrees)
	return c
}

// prune drops the weakest candidate and tests the others anew, until all are beyond chance and larger than
// least, a difference of logarithms. The weakest is the one with the largest p-value or, once all are beyond
// chance, the one with the smallest ratio.
func prune(values []float64, places []int, least float64) []Change {
	for {
		var all []Change
		for _, at := range places {
			all = append(all, testChange(values, places, at))
		}
		if len(all) == 0 {
			return nil
		}
		weakest := slices.MaxFunc(all, func(c, d Change) int { return cmp.Compare(c.P, d.P) })
		if weakest.P < changeP {
			weakest = slices.MinFunc(all, func(c, d Change) int {
				return cmp.Compare(math.Abs(c.Ratio), math.Abs(d.Ratio))
			})
			if math.Abs(weakest.Ratio) > least {
				return all
			}
		}
		places = slices.DeleteFunc(places, func(at int) bool { return at == weakest.Index })
	}
}
