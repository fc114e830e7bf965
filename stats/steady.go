package stats

import (
	"math"
	"slices"
)

// SteadyKind is the kind of course that a trial took.
type SteadyKind string

// The kinds of courses. All but Swinging are those of Barrett et al. 2017, "Virtual machine warmup blows hot
// and cold", section 3.
const (
	Flat     SteadyKind = "flat"            // one level throughout
	WarmUp   SteadyKind = "warm-up"         // faster, and level, in its last half
	Slowdown SteadyKind = "slowdown"        // slower, and level, in its last half
	Unsteady SteadyKind = "no steady state" // no level in its last half
	// Swinging alternates between two levels, so slowly that a trial sees only a few swings.
	Swinging SteadyKind = "swings"
)

// Course describes a series of times.
type Course struct {
	Kind SteadyKind
	// Factor is the highest level over the lowest, 1 if there is only one. Later is this ratio in the last
	// half.
	Factor, Later float64
}

// leastCourse is the smallest number of slices in which a change can be distinguished from noise.
const leastCourse = 4

// Steadiness finds the levels of a series of positive times, one per slice, oldest
// first. Change points are those of mean and variance of the logarithms; the partition
// is the best one (Jackson et al. 2005), which PELT (Killick et al. 2012) finds with fewer
// steps. Each change costs a penalty of 12 + 3 ln n. Barrett et al. take 15 ln n for series of
// thousands, but a trial has tens of slices: this is a BIC of three numbers per level, raised
// until fewer than one trial of pure noise in twenty has a change, from four slices on (see the
// test). Levels within the margin of each other, a share, count as one. Many short levels pay
// more penalties than they can gain: swings finds those.
func Steadiness(times []float64, margin float64) (Course, error) {
	values, err := logs("steadiness", times)
	if err != nil {
		return Course{}, err
	}
	if len(values) < leastCourse {
		return Course{}, &TooFewError{"steadiness", len(values), leastCourse}
	}
	tolerance := math.Log1p(margin)
	course := Course{Kind: Flat, Factor: 1, Later: 1}
	bounds := partition(values, tolerance/2)
	levels := make([]float64, len(values)) // of the segment that each slice is in
	for i := range len(bounds) - 1 {
		level := Mean(values[bounds[i]:bounds[i+1]])
		for at := bounds[i]; at < bounds[i+1]; at++ {
			levels[at] = level
		}
	}
	least := slices.Min(levels)
	most := slices.Max(levels)
	if most-least <= tolerance {
		return course, nil
	}
	course.Factor = math.Exp(most - least)
	later := levels[len(levels)/2:]
	last := levels[len(levels)-1]
	switch apart := slices.Max(later) - slices.Min(later); {
	case apart > tolerance:
		course.Kind = Unsteady
		course.Later = math.Exp(apart)
	case most-last > last-least:
		course.Kind = WarmUp
	default:
		course.Kind = Slowdown
	}
	return course, nil
}

// swings returns the factor by which times alternate between two levels, given their logarithms, or 1 if they
// do not. chance is the standard error of the logarithm of a slice.
//
// The times alternate if they cross the middle between the second lowest and the second highest slice. The
// two must be apart by a factor of two and by four standard errors, and the slices on either side must be two
// levels. With twenty stretches or more, a trial has both levels in their right proportion and its mean can
// be trusted: then there are no swings.
func swings(values []float64, chance float64) (factor float64) {
	const least, many, standardErrors = 2, 20, 4
	if len(values) < leastCourse {
		return 1
	}
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[1], sorted[len(sorted)-2]
	stretches, middle := 1, (low+high)/2
	for i := range values[1:] {
		if (values[i] > middle) != (values[i+1] > middle) {
			stretches++
		}
	}
	at, _ := slices.BinarySearch(sorted, middle)
	if high-low < max(math.Log(least), standardErrors*chance) || stretches >= many {
		return 1
	}
	if !areTwoLevels(sorted[:at], sorted[at:]) {
		return 1
	}
	return math.Exp(high - low)
}

// areTwoLevels reports whether the means of both lie apart by more than four standard deviations (D of
// Ashman, Bird and Zepf 1994; the halves of normal noise, cut in its middle, are 2.6 apart).
func areTwoLevels(low, high []float64) bool {
	const deviations = 4
	variance := (Variance(low) + Variance(high)) / 2
	return Mean(high)-Mean(low) > deviations*math.Sqrt(variance)
}

// partition cuts values into segments of two or more, of which the first and last may have one. It chooses
// the cuts with the largest likelihood of normal segments, each with its own mean and deviation, after the
// penalty. It returns the bounds of the segments, from 0 to len(values). Deviations below least are taken as
// least: otherwise two values that happen to be equal would make a segment.
func partition(values []float64, least float64) []int {
	const shortest = 2
	n := len(values)
	penalty := 12 + 3*math.Log(float64(n))
	sums := make([]float64, n+1)
	squares := make([]float64, n+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
		squares[i+1] = squares[i] + v*v
	}
	cost := func(from, to int) float64 {
		length := float64(to - from)
		mean := (sums[to] - sums[from]) / length
		variance := (squares[to]-squares[from])/length - mean*mean
		return length * math.Log(max(variance, least*least))
	}
	best := make([]float64, n+1)
	before := make([]int, n+1)
	best[0] = -penalty
	for to := 1; to <= n; to++ {
		best[to] = math.Inf(1)
		for from := 0; from < to; from++ {
			isInner := from > 0 && to < n // the first and the last level may have begun, or may go on, outside
			if isInner && to-from < shortest {
				continue
			}
			if sum := best[from] + cost(from, to) + penalty; sum < best[to] {
				best[to] = sum
				before[to] = from
			}
		}
	}
	bounds := []int{n}
	for at := n; at > 0; at = before[at] {
		bounds = append(bounds, before[at])
	}
	slices.Reverse(bounds)
	return bounds
}

// MannKendall returns the exact two-sided p-value of the test of a series for a monotone trend (Mann 1945,
// Kendall 1975), by counting the orders of n values with as many inversions. Ties count for neither side,
// which makes the test more conservative. The cost grows with the cube of the number of values: meant for
// trials, not for requests.
func MannKendall(values []float64) (float64, error) {
	const name, least = "Mann-Kendall test", 3
	if err := checkFinite(name, values); err != nil {
		return 0, err
	}
	n := len(values)
	if n < least {
		return 0, &TooFewError{name, n, least}
	}
	up, down := 0, 0
	for i, earlier := range values {
		for _, later := range values[i+1:] {
			if later > earlier {
				up++
			}
			if later < earlier {
				down++
			}
		}
	}
	// An order is at least as far from the middle as the series if it has at most this number of inversions, or
	// at most this number of pairs in order. There are as many orders of either kind.
	most := (n*(n-1)/2 - max(up-down, down-up)) / 2
	share := make([]float64, most+1) // share of all orders, by their number of inversions
	share[0] = 1
	for length := 2; length <= n; length++ {
		next := make([]float64, most+1)
		sum := 0.0 // one value more adds 0 to length-1 inversions
		for inversions, s := range share {
			if sum += s; inversions >= length {
				sum -= share[inversions-length]
			}
			next[inversions] = sum / float64(length)
		}
		share = next
	}
	p := 0.0
	for _, s := range share {
		p += 2 * s
	}
	return min(1, p), nil
}

// TheilSen returns the median of the slopes between all pairs of values, per step (Theil
// 1950, Sen 1968), 0 for fewer than two values.
func TheilSen(values []float64) float64 {
	var slopes []float64
	for i, earlier := range values {
		for j, later := range values[i+1:] {
			slopes = append(slopes, (later-earlier)/float64(j+1))
		}
	}
	return Median(slopes)
}
