package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cleave-lab/cleave/lab"
)

// The quantities in which a load is followed. All are times.
const (
	FollowMedian = "median" // the median response time
	FollowTail   = "p99"    // the 99th percentile of the response time; p95 or p90 where operations are few
	FollowRate   = "rate"   // the mean time between right answers, the inverse of their rate
)

const (
	// leastExpected is the expected number of operations that a part must have on either side of a
	// quantile (Cochran 1954, "Some methods for strengthening the common chi-squared tests").
	leastExpected = 5
	// mostParts is the largest number of parts of a load.
	mostParts = 20
	// leastCycles is the smallest length of a part, in response times, for counting its answers: the users
	// of a closed loop start in step, so that the count may be off by one answer per user.
	leastCycles = 40
	// significance is the p-value below which parts differ by more than chance.
	significance = 0.001
	// trendSignificance is the p-value below which the parts of one load have a trend.
	trendSignificance = 0.005
)

// Following says how one quantity developed in the loads of a variant at a point.
type Following struct {
	// Quantity names the quantity; for FollowTail the highest percentile that the operations suffice for.
	Quantity string
	// Courses counts the loads by kind of course. Changed counts those that were not flat, and Factor is the
	// median of their factors, 1 without any.
	Courses map[string]int
	Changed int
	Factor  float64
	// First and Second hold the values of the halves of each load; HalvesP is the p-value of their equality.
	First, Second []float64
	HalvesP       float64
}

// Judged counts the loads that are long enough to be followed.
func (f Following) Judged() int {
	n := 0
	for course, loads := range f.Courses {
		if course != TooShort {
			n += loads
		}
	}
	return n
}

// Changes reports whether loads change while they run: at least half of them do, and at least two if there
// are several, since a single one may have been disturbed.
func (f Following) Changes() bool {
	judged := f.Judged()
	return f.Changed >= max(min(judged, 2), 1) && 2*f.Changed >= judged
}

// HalvesDiffer reports whether the second halves differ from the first ones by more than the margin, at a
// confidence level, and whether their counts of operations differ by more than chance, too.
func (f Following) HalvesDiffer(margin, confidence float64) bool {
	ratio, err := PairedRatio(f.Second, f.First, confidence)
	isBeyondChance := f.HalvesP < significance
	if err != nil || !isBeyondChance {
		return false
	}
	return ratio.Low > 1+margin || ratio.High < 1/(1+margin)
}

// Follow finds how a quantity develops in each of the loads, which are trials of one variant at one point.
// Changes within the margin, a share, are ignored. Each load is divided into parts of about equal length: as
// many as all have enough operations for (followable). With fewer than four, the loads are TooShort.
func Follow(loads []lab.Cohorts, quantity string, margin float64) Following {
	f := Following{Quantity: quantity, Courses: map[string]int{}, Factor: 1, HalvesP: 1}
	share, parts := followable(loads, quantity)
	if quantity == FollowTail && share > 0 {
		f.Quantity = fmt.Sprintf("p%.0f", 100*share)
	}
	var factors []float64
	var halves []tally // the first and the second half of each load
	for _, load := range loads {
		if parts < leastCourse {
			f.Courses[TooShort]++
		} else {
			course := divide(load, share, parts).judge(margin)
			f.Courses[string(course.Kind)]++
			if course.Kind != Flat {
				f.Changed++
				factors = append(factors, course.Factor)
			}
		}
		if parts >= 2 {
			c := divide(load, share, 2)
			if len(c.times) == 2 {
				f.First = append(f.First, c.times[0])
				f.Second = append(f.Second, c.times[1])
				halves = append(halves, c.tallies...)
			}
		}
	}
	if len(factors) > 0 {
		f.Factor = Median(factors)
	}
	f.HalvesP = equalityP(halves, halvesP)
	return f
}

// followable returns the quantile in which loads can be followed, 0 for a rate, and the number of parts into
// which each can be divided so that all have enough operations. Fewer than 2 parts: they cannot be followed.
func followable(loads []lab.Cohorts, quantity string) (share float64, parts int) {
	if len(loads) == 0 {
		return 0, 0
	}
	shares := map[string][]float64{FollowMedian: {0.5}, FollowTail: {0.99, 0.95, 0.9}, FollowRate: {0}}[quantity]
	for _, candidate := range shares {
		least := mostParts
		for _, load := range loads {
			least = min(least, partsOf(load, candidate))
		}
		if least > parts && parts < leastCourse {
			share, parts = candidate, least
		}
	}
	return share, parts
}

// partsOf returns the number of parts into which a load can be divided to follow a quantile, or the rate if
// share is 0.
func partsOf(load lab.Cohorts, share float64) int {
	whole := filled(load)
	need := leastExpected / min(1-share, cmp.Or(share, 0.5))
	all := lab.SumCohorts(whole...)
	operations := float64(all.Operations())
	parts := min(mostParts, len(whole), int(operations/need))
	if share == 0 {
		if cycle := leastCycles * quantileOf(all, 0.5); cycle > 0 {
			seconds := float64(len(whole)) * load.Seconds
			parts = min(parts, int(seconds/cycle))
		}
	}
	return parts
}

// filled returns the cohorts that have operations of all steps of flows.
func filled(load lab.Cohorts) []lab.Cohort {
	if load.Seconds <= 0 {
		return nil
	}
	behind := math.Ceil(load.Lag / load.Seconds)
	first := min(float64(len(load.All)), behind) // before the conversion, which may overflow
	return load.All[int(first):]
}

// tally holds the counts of a part of a load that are compared with those of other parts.
type tally struct {
	rate  bool    // the load is followed in its rate, else in a quantile
	above float64 // operations above the quantile of the load; rate: right answers
	from  float64 // operations at the quantile or above; rate: 0
	all   float64 // operations of the part; rate: right answers of the load
	share float64 // length of the part, as a share of the load
}

// dividedLoad holds a time for each part of a load, the value of the quantity that is followed, and the
// counts behind it. A part without operations has neither, unless the rate is followed.
type dividedLoad struct {
	times   []float64
	tallies []tally
}

// divide divides a load into parts and follows a quantile through them, or the rate if share is 0.
func divide(load lab.Cohorts, share float64, parts int) dividedLoad {
	whole := filled(load)
	all := lab.SumCohorts(whole...)
	var c dividedLoad
	middle := bucketOf(all, cmp.Or(share, 0.5))
	for i := range parts {
		from, to := i*len(whole)/parts, (i+1)*len(whole)/parts
		g := lab.SumCohorts(whole[from:to]...)
		length := float64(to - from)
		t := tally{all: float64(g.Operations()), share: length / float64(len(whole))}
		if share == 0 {
			t.rate = true
			t.all = float64(all.OK)
			t.above = float64(g.OK)
			// Half an answer more keeps the time of a part without answers finite.
			c.times = append(c.times, length*load.Seconds/(float64(g.OK)+0.5))
		} else {
			if t.all == 0 {
				continue // nothing was due
			}
			t.above = above(g, middle+1)
			t.from = above(g, middle)
			c.times = append(c.times, quantileOf(g, share))
		}
		c.tallies = append(c.tallies, t)
	}
	return c
}

// judge returns the course of the load. It is not flat if the counts of its parts differ by more than chance
// and their times show swings (swings), a change of level (Steadiness), or a trend (Mann 1945, Kendall 1975;
// its size by Theil 1950, Sen 1968). Operations that wait for each other make the counts of neighbouring
// parts differ by more than chance. Therefore level and trend must also pass a test that allows for this
// overdispersion (McCullagh and Nelder 1989, section 4.5; estimated from successive differences, von Neumann
// 1941). Swings are such differences themselves, and need not.
func (c dividedLoad) judge(margin float64) Course {
	flat := Course{Kind: Flat, Factor: 1, Later: 1}
	if len(c.times) < leastCourse || equalityP(c.tallies, partsP) >= significance {
		return flat
	}
	found, err := Steadiness(c.times, margin)
	if err != nil {
		return flat
	}
	values, _ := logs("course", c.times) // no error: Steadiness has taken the same logarithms
	if factor := swings(values, 0); factor > 1 {
		return Course{Kind: Swinging, Factor: max(factor, found.Factor)}
	}
	if equalityP(c.tallies, dispersedP) >= significance {
		return flat
	}
	if found.Kind != Flat {
		return found
	}
	change := math.Abs(TheilSen(values)) * float64(len(values)-1)
	p, err := MannKendall(values)
	isTrend := err == nil && p < trendSignificance
	if isTrend && change > math.Log1p(margin) {
		return Course{Kind: Unsteady, Factor: math.Exp(change), Later: math.Exp(change)}
	}
	return flat
}

// equalityP returns the p-value of tallies that differ by chance only, by one of the three tests below. A
// quantile is tested twice, with the operations equal to it counted below and then above it, and the smaller
// p-value is doubled.
func equalityP(parts []tally, test func([]tally, func(tally) float64) float64) float64 {
	if len(parts) < 2 {
		return 1
	}
	p := test(parts, func(t tally) float64 { return t.above })
	if parts[0].rate {
		return p
	}
	return min(1, 2*p, 2*test(parts, func(t tally) float64 { return t.from }))
}

// halvesP compares the two halves of each of several loads: the test of Mantel and Haenszel (1959), with the
// loads as strata.
func halvesP(halves []tally, count func(tally) float64) float64 {
	excess, variance := 0.0, 0.0
	for pair := range slices.Chunk(halves, 2) {
		e, v := firstHalfExcess(pair[0], pair[1], count)
		excess, variance = excess+e, variance+v
	}
	if variance == 0 {
		return 1
	}
	return distuv.ChiSquared{K: 1}.Survival(excess * excess / variance)
}

// partsP compares the parts of one load. For a quantile it is the chi-squared test of the counts on either
// side of the quantile of the whole load (Mood's median test, 1950, for any quantile: Conover 1999, section
// 4.3); for a rate, Fisher's index of dispersion of the counts.
func partsP(parts []tally, count func(tally) float64) float64 {
	squares, _ := dispersion(parts, count)
	return distuv.ChiSquared{K: float64(len(parts) - 1)}.Survival(squares)
}

// dispersedP is partsP with the differences between neighbouring parts as the noise, if that is larger than
// chance.
func dispersedP(parts []tally, count func(tally) float64) float64 {
	squares, overdispersion := dispersion(parts, count)
	noise := max(1, overdispersion)
	return distuv.ChiSquared{K: float64(len(parts) - 1)}.Survival(squares / noise)
}

// dispersion returns the sum of the squared distances of the counts from what is expected of them, in
// standard deviations, and the same per degree of freedom by the differences of neighbouring counts: 1 by
// chance alone.
func dispersion(parts []tally, count func(tally) float64) (squares, overdispersion float64) {
	var all, counted float64
	for _, t := range parts {
		all += t.all
		counted += count(t)
	}
	share := counted / all
	steps := 0.0
	before := 0.0
	for i, t := range parts {
		expected, variance := t.all*share, t.all*share*(1-share)
		if t.rate {
			expected = counted * t.share
			variance = expected
		}
		if variance == 0 {
			return 0, 0 // no test: a part has no operations, or all counts are on one side
		}
		off := (count(t) - expected) / math.Sqrt(variance)
		squares += off * off
		if i > 0 {
			steps += (off - before) * (off - before) / 2
		}
		before = off
	}
	return squares, steps / float64(len(parts)-1)
}

// firstHalfExcess returns the count of the first half less the count that is expected of it if the halves are
// equal, and the variance of this difference.
func firstHalfExcess(first, second tally, count func(tally) float64) (excess, variance float64) {
	both := count(first) + count(second)
	if first.rate {
		return count(first) - both*first.share, both * first.share * second.share
	}
	all := first.all + second.all
	if all < 2 {
		return 0, 0
	}
	return count(first) - both*first.all/all,
		first.all * second.all * both * (all - both) / (all * all * (all - 1))
}

// bucketOf returns the bucket of a quantile (nearest rank), -1 without operations.
func bucketOf(c lab.Cohort, share float64) int {
	part := share * float64(c.Operations())
	rank := int64(math.Ceil(part))
	below := int64(0)
	for i, n := range c.Counts {
		if below += n; below >= rank {
			return c.Buckets[i]
		}
	}
	return -1
}

// quantileOf returns a quantile of the response times, in seconds, 0 without operations.
func quantileOf(c lab.Cohort, share float64) float64 {
	bucket := bucketOf(c, share)
	if bucket < 0 {
		return 0
	}
	return lab.BucketTime(bucket)
}

// above counts the operations in a bucket and above it.
func above(c lab.Cohort, bucket int) float64 {
	var n int64
	for i, b := range c.Buckets {
		if b >= bucket {
			n += c.Counts[i]
		}
	}
	return float64(n)
}
