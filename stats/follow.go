package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cleave-lab/cleave/lab"
)

// What a load is followed in, always as times.
const (
	FollowMedian = "median" // the median response time
	FollowTail   = "p99"    // the 99th percentile of the response time; p95 or p90 where operations are few
	FollowRate   = "rate"   // the time between right answers, which stands for their rate
)

const (
	// leastExpected is the number of operations of a part that must be expected on either side of a
	// quantile (Cochran 1954, "Some methods for strengthening the common chi-squared tests").
	leastExpected = 5
	// mostParts is the largest number of parts of a load.
	mostParts = 20
	// leastCycles is the length, in response times, from which on the answers of a part are counted: the
	// users of a closed loop ask in step at first, so that a count may be off by one of each.
	leastCycles = 40
	// byChance is the p-value below which parts differ by more than chance.
	byChance = 0.001
	// trendByChance is the p-value of a trend over the parts of one load.
	trendByChance = 0.005
)

// Following is how the loads of a variant at a point went on in one quantity.
type Following struct {
	// Quantity names what was followed; of the tail the highest quantile that parts have enough operations for.
	Quantity string
	// Courses counts the loads by how they went on; Changed are those that were not flat, and Factor the
	// median of their factors, 1 without any.
	Courses map[string]int
	Changed int
	Factor  float64
	// First and Second are the values of the halves of each load; HalvesP is the p-value of their equality.
	First, Second []float64
	HalvesP       float64
}

// Judged returns the number of loads that are long enough to be followed.
func (f Following) Judged() int {
	n := 0
	for course, loads := range f.Courses {
		if course != TooShort {
			n += loads
		}
	}
	return n
}

// Changes reports whether loads change within themselves: at least half of them, and two where there are
// several. One of several may have been disturbed.
func (f Following) Changes() bool {
	judged := f.Judged()
	return f.Changed >= max(min(judged, 2), 1) && 2*f.Changed >= judged
}

// HalvesDiffer reports whether the second halves differ from the first by more than the margin, at a
// confidence level, and by more than counts of operations do by chance.
func (f Following) HalvesDiffer(margin, confidence float64) bool {
	ratio, err := PairedRatio(f.Second, f.First, confidence)
	return err == nil && f.HalvesP < byChance && (ratio.Low > 1+margin || ratio.High < 1/(1+margin))
}

// Follow follows loads of the same kind in a quantity.
func Follow(loads []lab.Cohorts, quantity string, margin float64) Following {
	f := Following{Quantity: quantity, Courses: map[string]int{}, Factor: 1, HalvesP: 1}
	share, parts := followable(loads, quantity)
	if quantity == FollowTail && share > 0 {
		f.Quantity = fmt.Sprintf("p%.0f", 100*share)
	}
	var factors []float64
	var halves []tally
	for _, load := range loads {
		if parts < leastCourse {
			f.Courses[TooShort]++
		} else {
			course := newCourse(load, share, parts).judge(margin)
			f.Courses[string(course.Kind)]++
			if course.Kind != Flat {
				f.Changed, factors = f.Changed+1, append(factors, course.Factor)
			}
		}
		if parts >= 2 {
			c := newCourse(load, share, 2)
			if len(c.times) == 2 {
				f.First, f.Second = append(f.First, c.times[0]), append(f.Second, c.times[1])
				halves = append(halves, c.tallies...)
			}
		}
	}
	if len(factors) > 0 {
		f.Factor = Median(factors)
	}
	f.HalvesP = differ(halves, true, false)
	return f
}

// followable returns the quantile in which loads can be followed, 0 of a rate, and into how many parts
// each can be divided so that all have enough operations; fewer than 2: none.
func followable(loads []lab.Cohorts, quantity string) (share float64, parts int) {
	shares := map[string][]float64{FollowMedian: {0.5}, FollowTail: {0.99, 0.95, 0.9}, FollowRate: {0}}[quantity]
	for _, candidate := range shares {
		least := mostParts
		for _, load := range loads {
			least = min(least, partsOf(load, candidate))
		}
		if len(loads) > 0 && least > parts && parts < leastCourse {
			share, parts = candidate, least
		}
	}
	return share, parts
}

// partsOf returns into how many parts a load can be divided.
func partsOf(load lab.Cohorts, share float64) int {
	whole := filled(load)
	need := leastExpected / min(1-share, cmp.Or(share, 0.5))
	all := sum(whole)
	parts := min(mostParts, len(whole), int(float64(all.Operations())/need))
	if share == 0 { // a rate
		if cycle := leastCycles * quantileOf(all, 0.5); cycle > 0 {
			parts = min(parts, int(float64(len(whole))*load.Seconds/cycle))
		}
	}
	return parts
}

// filled returns the cohorts that have operations of all steps of flows.
func filled(load lab.Cohorts) []lab.Cohort {
	if load.Seconds <= 0 {
		return nil
	}
	first := min(len(load.All), int(math.Ceil(load.Lag/load.Seconds)))
	return load.All[first:]
}

// tally holds the counts of a part that are compared with those of other parts.
type tally struct {
	above float64 // operations above the quantile of the load; of a rate right answers
	from  float64 // operations at it or above; of a rate 0
	all   float64 // operations of the part; of a rate right answers of the load
	share float64 // of the load that the part is long
	rate  bool
}

// course is a load in parts.
type course struct {
	times   []float64
	tallies []tally
}

// newCourse divides a load into parts and follows a quantile through them, or the rate where share is 0.
func newCourse(load lab.Cohorts, share float64, parts int) course {
	whole := filled(load)
	all := sum(whole)
	var c course
	middle := bucketOf(all, cmp.Or(share, 0.5))
	for i := range parts {
		from, to := i*len(whole)/parts, (i+1)*len(whole)/parts
		g, length := sum(whole[from:to]), float64(to-from)
		t := tally{all: float64(g.Operations()), share: length / float64(len(whole))}
		if share == 0 {
			t.rate, t.all, t.above = true, float64(all.OK), float64(g.OK)
			// Half an answer more, for a part without any.
			c.times = append(c.times, length*load.Seconds/(float64(g.OK)+0.5))
		} else {
			if t.all == 0 {
				continue // nothing was due
			}
			t.above, t.from = above(g, middle+1), above(g, middle)
			c.times = append(c.times, quantileOf(g, share))
		}
		c.tallies = append(c.tallies, t)
	}
	return c
}

// judge finds how the load went on. A change is one where parts differ by more than chance, by their
// counts, and by more than the parts scatter: swings (swings), a change of level (Steadiness), or a trend
// (Mann 1945, Kendall 1975; its size by Theil 1950, Sen 1968). Operations that wait for each other make
// counts of neighbouring parts differ by more than chance. So counts that change otherwise than by swings
// are held against that (overdispersion: McCullagh and Nelder 1989, section 4.5, estimated from successive
// differences: von Neumann 1941).
func (c course) judge(margin float64) Course {
	flat := Course{Kind: Flat, Factor: 1, Later: 1}
	if len(c.times) < leastCourse || differ(c.tallies, false, false) >= byChance {
		return flat
	}
	found, err := Steadiness(c.times, margin)
	if err != nil {
		return flat
	}
	if factor, err := swings(c.times, 0); err == nil && factor > 1 {
		return Course{Kind: Swinging, Factor: max(factor, found.Factor)}
	}
	if differ(c.tallies, false, true) >= byChance {
		return flat
	}
	if found.Kind != Flat {
		return found
	}
	values, _ := logs("trend", c.times) // Steadiness has taken them
	change := math.Abs(TheilSen(values)) * float64(len(values)-1)
	if p, err := MannKendall(values); err == nil && p < trendByChance && change > math.Log1p(margin) {
		return Course{Kind: Unsteady, Factor: math.Exp(change), Later: math.Exp(change)}
	}
	return flat
}

// differ returns the p-value of parts that differ by chance only. Of a quantile it is the chi-squared test
// of the counts on either side of the quantile of all (Mood's median test, 1950, for any quantile: Conover
// 1999, section 4.3), without those equal to it on one side and then on the other; of a rate Fisher's
// index of dispersion of the counts. Of halves, the pairs of parts of several loads, it is the test of
// Mantel and Haenszel (1959), in which the loads are the strata.
func differ(parts []tally, halves, dispersed bool) float64 {
	if len(parts) < 2 {
		return 1
	}
	if parts[0].rate {
		return differing(parts, halves, dispersed, func(t tally) float64 { return t.above })
	}
	p := min(differing(parts, halves, dispersed, func(t tally) float64 { return t.above }),
		differing(parts, halves, dispersed, func(t tally) float64 { return t.from }))
	return min(1, 2*p)
}

// differing is differ for one way to count.
func differing(parts []tally, halves, dispersed bool, count func(tally) float64) float64 {
	if halves {
		off, variance := 0.0, 0.0
		for pair := range slices.Chunk(parts, 2) {
			o, v := offHalf(pair, count)
			off, variance = off+o, variance+v
		}
		if variance == 0 {
			return 1
		}
		return distuv.ChiSquared{K: 1}.Survival(off * off / variance)
	}
	var all, counted float64
	for _, t := range parts {
		all, counted = all+t.all, counted+count(t)
	}
	share, squares, steps, before := counted/all, 0.0, 0.0, 0.0
	for i, t := range parts {
		expected, variance := t.all*share, t.all*share*(1-share)
		if t.rate {
			expected = counted * t.share
			variance = expected
		}
		if variance == 0 {
			return 1
		}
		off := (count(t) - expected) / math.Sqrt(variance)
		squares += off * off
		if i > 0 {
			steps += (off - before) * (off - before) / 2
		}
		before = off
	}
	degrees := float64(len(parts) - 1)
	if dispersed {
		squares /= max(1, steps/degrees)
	}
	return distuv.ChiSquared{K: degrees}.Survival(squares)
}

// offHalf returns by how much the count of the first half is off what is expected of it, and the variance
// of that.
func offHalf(pair []tally, count func(tally) float64) (off, variance float64) {
	first, second := pair[0], pair[1]
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

// sum adds cohorts.
func sum(cohorts []lab.Cohort) lab.Cohort {
	var all lab.Cohort
	var counts [lab.TimeBuckets]int64
	for _, c := range cohorts {
		all.OK += c.OK
		for i, bucket := range c.Buckets {
			counts[bucket] += c.Counts[i]
		}
	}
	for bucket, n := range counts {
		if n > 0 {
			all.Buckets, all.Counts = append(all.Buckets, bucket), append(all.Counts, n)
		}
	}
	return all
}

// bucketOf returns the bucket of a quantile (nearest rank); -1 of nothing.
func bucketOf(c lab.Cohort, share float64) int {
	rank, below := int64(math.Ceil(share*float64(c.Operations()))), int64(0)
	for i, n := range c.Counts {
		if below += n; below >= rank {
			return c.Buckets[i]
		}
	}
	return -1
}

// quantileOf returns a quantile of the response times, in seconds; 0 of nothing.
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
