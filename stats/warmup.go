package stats

import (
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// TooShort is the course of a load of fewer slices than tell a change from noise.
const TooShort = "too short"

const (
	// warmUpMargin is the largest distance of levels of a warm-up that count as one.
	warmUpMargin = 0.05
	// leastWarmUp is the number of slices below which a warm-up is not judged.
	leastWarmUp = 12
	// mostSlices bounds what a look costs, which grows with the square of the slices.
	mostSlices = 240
	// trendMargin is how much the last half of a warm-up may rise or fall. Before the limit of the warm-up a
	// trend counts with doubt standard errors added; at the limit only if it is larger than proof of them.
	trendMargin  = 0.15
	doubt, proof = 1.3, 3
)

// WarmedUp judges a load that goes on until it is steady, by its slices so far: what
// follows may be measured where neither the time between right answers nor the median
// response time changes in its last half: no change point (Steadiness, after Barrett et
// al. 2017), no swing, and no trend. Slow slices that stand alone are left out, as of a
// garbage collection.
//
// Before its limit a load goes on in doubt: at a trend that noise may hide, or a level slower than the first,
// which may be the slow half of a swing. At its limit only what is beyond doubt counts.
func WarmedUp(load []lab.Slice, limit bool) lab.WarmUp {
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
		course, left := warmUpCourse(withoutOutliers(times), chance, limit)
		slower = slower || course.Kind == Slowdown
		if w.Course == TooShort || left > w.Left || left == w.Left && course.Factor > w.Factor {
			w.Course, w.Quantity, w.Factor, w.Left = string(course.Kind), quantity, course.Factor, left
		}
	}
	w.Steady = w.Course != TooShort && w.Left == 1 && (limit || !slower)
	return w
}

// coarser returns a load in slices that are so much longer that there are at most mostSlices.
func coarser(load []lab.Slice) []lab.Slice {
	for len(load) > mostSlices {
		var pairs []lab.Slice
		for i := 1; i < len(load); i += 2 {
			first, second := load[i-1], load[i]
			second.OK += first.OK
			if first.Median != nil && second.Median != nil {
				middle := math.Sqrt(*first.Median * *second.Median)
				second.Median = &middle
			}
			pairs = append(pairs, second)
		}
		load = pairs
	}
	return load
}

// warmUpCourse returns the course of a warm-up, and the factor by which it still changes in its
// last half: 1 where it does not.
func warmUpCourse(times []float64, chance float64, limit bool) (course Course, left float64) {
	course, _ = Steadiness(times, warmUpMargin) // series hands on what has logarithms
	later := times[len(times)/2:]
	left = course.Later
	if swing, err := swings(later, chance); err == nil && swing > left {
		course.Kind, course.Factor, left = Swinging, max(course.Factor, swing), swing
	}
	change, off := trend(later)
	shown := change > proof*off && change > math.Log1p(warmUpMargin)
	if shown || !limit && change+doubt*off > math.Log1p(trendMargin) {
		course.Kind, course.Factor, left = Unsteady, max(course.Factor, math.Exp(change)),
			max(left, math.Exp(change+off))
	}
	return course, left
}

// trend returns how far the logarithms of positive times go up or down from first to last, by the
// line of least squares, and the standard error of that.
func trend(times []float64) (change, off float64) {
	steps, values := make([]float64, len(times)), make([]float64, len(times))
	for i, t := range times {
		steps[i], values[i] = float64(i), math.Log(t)
	}
	line, _ := FitLine(steps, values) // a warm-up that is judged has enough slices
	last := float64(len(times) - 1)
	return math.Abs(line.Slope) * last, line.SlopeSE * last
}

// withoutOutliers replaces times that stand alone, far from the median of the five around
// them, by that median (Hampel's identifier; the deviation is that of the whole series). Of
// two in a row both stay: they may be a level.
func withoutOutliers(times []float64) []float64 {
	const reach, deviations, normal = 2, 4, 1.4826
	middles, away := slices.Clone(times), make([]float64, len(times))
	for i := reach; i < len(times)-reach; i++ {
		middles[i] = Median(times[i-reach : i+reach+1])
		away[i] = math.Abs(math.Log(times[i] / middles[i]))
	}
	if len(times) <= 2*reach {
		return times
	}
	far := max(deviations*normal*Median(away[reach:len(times)-reach]), math.Log1p(warmUpMargin))
	clean := slices.Clone(times)
	for i := reach; i < len(times)-reach; i++ {
		if away[i] > far && away[i-1] <= far && away[i+1] <= far {
			clean[i] = middles[i]
		}
	}
	return clean
}

// series returns a quantity of a load as times, slice by slice, and about how much the logarithm of one of
// them is off by chance. Slices that are shorter than most are left out.
func series(load []lab.Slice, quantity string) (times []float64, chance float64) {
	const whole = 0.9 // of a slice
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
		value, off := s.Median, chanceOfMedian(s)
		if quantity == FollowRate {
			between := lengths[i] / (float64(s.OK) + 0.5) // half an answer, for a slice without any
			value, off = &between, 1/math.Sqrt(float64(s.OK)+0.5)
		}
		if value == nil || !(*value > 0) || math.IsInf(*value, 0) {
			continue
		}
		times = append(times, *value)
		if off > 0 {
			each = append(each, off)
		}
	}
	return times, Median(each)
}

// chanceOfMedian estimates how much the logarithm of a slice's median is off by chance, as if the
// logarithms of its times had a normal distribution with such a 99th percentile. It returns 0 if these are
// not known.
func chanceOfMedian(s lab.Slice) float64 {
	const ofMedian, ofTail = 1.25, 2.33 // deviations of a median of n, times the root of n; of p99 from p50
	if s.Median == nil || s.P99 == nil || !(*s.Median > 0) || s.OK == 0 {
		return 0
	}
	return ofMedian * math.Log(*s.P99 / *s.Median) / ofTail / math.Sqrt(float64(s.OK))
}
