package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// TooShort is the course of a load that has too few slices to tell a change from noise.
const TooShort = "too short"

const (
	// warmUpMargin is the largest relative difference between two levels of a warm-up that count as one.
	warmUpMargin = 0.05
	// leastWarmUp is the smallest number of slices by which a warm-up is judged.
	leastWarmUp = 12
	// mostSlices is the largest number of slices that WarmedUp judges: its cost grows with their square.
	mostSlices = 240
	// A rise or fall over the last half of a warm-up counts as a trend if it is more than proof standard
	// errors, and beyond warmUpMargin. Before the limit of the warm-up, it also counts if the change plus
	// doubt standard errors is beyond trendMargin, a share.
	trendMargin  = 0.15
	doubt, proof = 1.3, 3
)

// WarmedUp judges whether a warm-up is steady, so that measuring may begin; load holds the slices so far. The
// warm-up is steady if neither the time between right answers nor the median response time changes in its
// last half: both have no change point (Steadiness, after Barrett et al. 2017), no swing and no trend. Single
// slow slices, as of a garbage collection, are ignored.
//
// In doubt a warm-up goes on until its limit: if noise may hide a trend, or if the last level is slower than
// the first, since it may be the slow half of a swing. With atLimit, only proven changes count.
func WarmedUp(load []lab.Slice, atLimit bool) lab.WarmUp {
	w := lab.WarmUp{Course: TooShort, Factor: 1, Left: 1, Slices: load}
	if n := len(load); n > 0 {
		w.Seconds = load[n-1].End
	}
	slower := false
	judged := coarser(load)
	for _, quantity := range []string{FollowRate, FollowMedian} {
		times, chance := series(judged, quantity)
		if len(times) < leastWarmUp {
			continue
		}
		course, left := warmUpCourse(withoutOutliers(times), chance, atLimit)
		slower = slower || course.Kind == Slowdown
		larger := cmp.Or(cmp.Compare(left, w.Left), cmp.Compare(course.Factor, w.Factor))
		if w.Course == TooShort || larger > 0 {
			w.Course = string(course.Kind)
			w.Quantity = quantity
			w.Factor = course.Factor
			w.Left = left
		}
	}
	isLevel := w.Course != TooShort && w.Left == 1
	inDoubt := slower && !atLimit
	w.Steady = isLevel && !inDoubt
	return w
}

// coarser merges pairs of neighbouring slices until there are at most mostSlices. Of an odd number it leaves
// out the last slice, whose neighbour is still to come.
func coarser(load []lab.Slice) []lab.Slice {
	for len(load) > mostSlices {
		var pairs []lab.Slice
		for i := 1; i < len(load); i += 2 {
			first, second := load[i-1], load[i]
			second.OK += first.OK
			second.Median = middle(first.Median, second.Median)
			second.P99 = middle(first.P99, second.P99)
			pairs = append(pairs, second)
		}
		load = pairs
	}
	return load
}

// middle returns the geometric mean of two times, or the only one of them. So the distance from the median of
// a merged slice to its 99th percentile is the mean of both slices' distances, on the log scale.
func middle(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(math.Sqrt(*a * *b))
}

// warmUpCourse returns the course of the times of a warm-up, and the factor by which they still change in
// their last half: 1 if they do not change.
func warmUpCourse(times []float64, chance float64, atLimit bool) (course Course, left float64) {
	course, _ = Steadiness(times, warmUpMargin)       // no error: series returns positive times only
	later, _ := logs("warm-up", times[len(times)/2:]) // no error, again
	left = course.Later
	if swing := swings(later, chance); swing > left {
		course.Kind = Swinging
		course.Factor = max(course.Factor, swing)
		left = swing
	}
	change, standardError := trend(later)
	isProven := change > proof*standardError && change > math.Log1p(warmUpMargin)
	isPossible := change+doubt*standardError > math.Log1p(trendMargin)
	if inDoubt := isPossible && !atLimit; isProven || inDoubt {
		// The standard error keeps left above 1 in doubt, even if the change is 0.
		course.Kind = Unsteady
		course.Factor = max(course.Factor, math.Exp(change))
		left = max(left, math.Exp(change+standardError))
	}
	return course, left
}

// trend returns the change of values from first to last, without its sign, by the line of least squares, and
// the standard error of the change.
func trend(values []float64) (change, standardError float64) {
	steps := make([]float64, len(values))
	for i := range steps {
		steps[i] = float64(i)
	}
	line, _ := FitLine(steps, values) // no error: leastWarmUp slices are enough for a line
	last := float64(len(values) - 1)
	return math.Abs(line.Slope) * last, line.SlopeSE * last
}

// withoutOutliers replaces each outlier by the median of five times: the outlier and two times on either side
// of it (Hampel's identifier, but with the deviation of the whole series). Two outliers in a row stay: they
// may be a level. So do the first two times and the last two.
func withoutOutliers(times []float64) []float64 {
	const reach, deviations = 2, 4
	const normal = 1.4826 // standard deviation over median absolute deviation, of a normal distribution
	if len(times) <= 2*reach {
		return times
	}
	middles := slices.Clone(times)
	away := make([]float64, len(times))
	for i := reach; i < len(times)-reach; i++ {
		middles[i] = Median(times[i-reach : i+reach+1])
		away[i] = math.Abs(math.Log(times[i] / middles[i]))
	}
	usual := Median(away[reach : len(times)-reach])
	far := max(deviations*normal*usual, math.Log1p(warmUpMargin))
	clean := slices.Clone(times)
	for i := reach; i < len(times)-reach; i++ {
		isSingle := away[i-1] <= far && away[i+1] <= far
		if isSingle && away[i] > far {
			clean[i] = middles[i]
		}
	}
	return clean
}

// series returns a quantity of a load as positive times, one per slice. chance is the estimated standard
// error of the logarithm of a typical time. Slices without a value, or shorter than usual, are left out.
func series(load []lab.Slice, quantity string) (times []float64, chance float64) {
	const whole = 0.9 // share of the usual length
	var lengths, each []float64
	begun := 0.0
	for _, s := range load {
		lengths = append(lengths, s.End-begun)
		begun = s.End
	}
	usual := Median(lengths)
	for i, s := range load {
		if lengths[i] < whole*usual {
			continue
		}
		value := s.Median
		off := chanceOfMedian(s)
		if quantity == FollowRate {
			between := lengths[i] / (float64(s.OK) + 0.5) // half an answer, for a slice without any
			value = &between
			off = 1 / math.Sqrt(float64(s.OK)+0.5)
		}
		if !isPositive(value) || math.IsInf(*value, 0) {
			continue
		}
		times = append(times, *value)
		if off > 0 {
			each = append(each, off)
		}
	}
	return times, Median(each)
}

// isPositive reports whether there is a value above 0.
func isPositive(value *float64) bool { return value != nil && *value > 0 }

// chanceOfMedian estimates the standard error of the logarithm of a slice's median. It assumes that the
// logarithms of the slice's times are normal, and derives their deviation from the 99th percentile. It
// returns 0 if the slice has no percentiles.
func chanceOfMedian(s lab.Slice) float64 {
	// Of normal values, in standard deviations: ofMedian is the standard error of the median of n values,
	// times the square root of n; ofTail is the distance of the 99th percentile from the median.
	const ofMedian, ofTail = 1.25, 2.33
	if !isPositive(s.Median) || s.P99 == nil || s.OK == 0 {
		return 0
	}
	return ofMedian * math.Log(*s.P99 / *s.Median) / ofTail / math.Sqrt(float64(s.OK))
}
