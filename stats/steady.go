package stats

import (
	"math"
	"slices"
)

// SteadyKind says how a trial went on.
type SteadyKind string

// The kinds of courses (Barrett et al. 2017, "Virtual machine warmup blows hot and
// cold", section 3).
const (
	Flat     SteadyKind = "flat"            // one level throughout
	WarmUp   SteadyKind = "warm-up"         // faster, and level, in its last half
	Slowdown SteadyKind = "slowdown"        // slower, and level, in its last half
	Unsteady SteadyKind = "no steady state" // no level in its last half
	// Swinging is of our own: to and fro too seldom for the trial to hold many swings.
	Swinging SteadyKind = "swings"
)

// Course describes a series of times.
type Course struct {
	Kind SteadyKind
	// Changes are the indexes at which a new level begins.
	Changes []int
	// Factor is the highest level over the lowest: 1 where there is one only. Later is that
	// of its last half.
	Factor, Later float64
}

// leastCourse is the number of slices below which no change can be told from noise.
const leastCourse = 4

// Steadiness finds the levels of a series of positive times, one per slice, oldest
// first. Change points are those of mean and variance of the logarithms; the partition
// is the best one (Jackson et al. 2005), which PELT (Killick et al. 2012) finds with fewer
// steps. Barrett et al. ask 15 ln n of a change, for series of thousands. A trial has
// tens of slices: 12 + 3 ln n is a BIC of three numbers per level, raised until noise
// alone passes it in less than one trial of twenty from four slices on (see the test).
// Levels within the margin of each other are one. Many short levels pay more penalties
// than they can gain: swings finds those.
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
	least, most := slices.Min(levels), slices.Max(levels)
	if most-least <= tolerance {
		return course, nil
	}
	course.Changes, course.Factor = bounds[1:len(bounds)-1], math.Exp(most-least)
	later := levels[len(levels)/2:]
	last := levels[len(levels)-1]
	switch apart := slices.Max(later) - slices.Min(later); {
	case apart > tolerance:
		course.Kind, course.Later = Unsteady, math.Exp(apart)
	case most-last > last-least:
		course.Kind = WarmUp
	default:
		course.Kind = Slowdown
	}
	return course, nil
}

// swings looks for a series of positive times that goes to and fro by a factor of two or
// more, and beyond chance, which each slice may be off by the given deviation of its
// logarithm for. It does where the mid between the second lowest and the second highest slice
// is crossed, but in fewer than twenty stretches: a trial of more holds them all in their
// proportion, and what is left shows between trials. The slices on either
// side must be two levels, apart by more than four of their deviations (D of Ashman, Bird and Zepf 1994;
// normal noise that is cut in its middle has 2.6). The factor is 1 where it does not.
func swings(times []float64, chance float64) (factor float64, err error) {
	const least, many, beyond = 2, 20, 4
	values, err := logs("swings", times)
	if err != nil {
		return 1, err
	}
	if len(values) < leastCourse {
		return 1, &TooFewError{"swings", len(values), leastCourse}
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
	if high-low < max(math.Log(least), beyond*chance) || stretches >= many ||
		!areTwoLevels(sorted[:at], sorted[at:]) {
		return 1, nil
	}
	return math.Exp(high - low), nil
}

// areTwoLevels reports whether values lie apart by more than they scatter.
func areTwoLevels(low, high []float64) bool {
	const deviations = 4
	return Mean(high)-Mean(low) > deviations*math.Sqrt((Variance(low)+Variance(high))/2)
}

// partition cuts values into segments of two or more, so that the likelihood of normal
// segments with a mean and a deviation each is largest after the penalty. It returns
// the bounds of the segments, 0 and len(values) among them. A deviation counts with at
// least the least one: two values that happen to be equal are no segment.
func partition(values []float64, least float64) []int {
	const shortest = 2
	n := len(values)
	penalty := 12 + 3*math.Log(float64(n))
	sums, squares := make([]float64, n+1), make([]float64, n+1)
	for i, v := range values {
		sums[i+1], squares[i+1] = sums[i]+v, squares[i]+v*v
	}
	cost := func(from, to int) float64 {
		length := float64(to - from)
		mean := (sums[to] - sums[from]) / length
		variance := (squares[to]-squares[from])/length - mean*mean
		return length * math.Log(max(variance, least*least))
	}
	best, before := make([]float64, n+1), make([]int, n+1)
	best[0] = -penalty
	for to := 1; to <= n; to++ {
		best[to] = math.Inf(1)
		for from := 0; from < to; from++ {
			if to-from < shortest && from > 0 && to < n {
				continue // the first and the last level may have begun, or may go on, outside
			}
			if sum := best[from] + cost(from, to) + penalty; sum < best[to] {
				best[to], before[to] = sum, from
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

// MannKendall returns the exact two-sided p-value of the test of a series for a
// monotone trend (Mann 1945, Kendall 1975), by counting the orders of n values with as
// many inversions. Ties count for no side, which makes the test more careful. The cost
// grows with the cube of the number of values: meant for trials, not for requests.
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
	pairs := n * (n - 1) / 2
	share := make([]float64, pairs+1) // of all orders, by inversions
	share[0] = 1
	for length := 2; length <= n; length++ {
		next := make([]float64, pairs+1)
		for inversions := range share {
			for k := 0; k < length && k <= inversions; k++ {
				next[inversions] += share[inversions-k] / float64(length)
			}
		}
		share = next
	}
	p := 0.0
	for inversions, s := range share {
		if max(inversions, pairs-inversions)*2-pairs >= max(up-down, down-up) {
			p += s
		}
	}
	return min(1, p), nil
}

// TheilSen returns the median of the slopes between all pairs of values, per step (Theil
// 1950, Sen 1968); 0 of fewer than two.
func TheilSen(values []float64) float64 {
	var slopes []float64
	for i, earlier := range values {
		for j, later := range values[i+1:] {
			slopes = append(slopes, (later-earlier)/float64(j+1))
		}
	}
	return Median(slopes)
}
