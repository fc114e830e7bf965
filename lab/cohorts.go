package lab

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// CohortsOfLoad is the number of cohorts of a load of any length.
const CohortsOfLoad = 60

// Cohorts groups the operations of a load by their due times. Groups by finish times lack the slow operations
// at the beginning of a load; cohorts are complete.
type Cohorts struct {
	// Seconds is the length of a cohort.
	Seconds float64 `json:"seconds"`
	// Lag is the 99th percentile of the time from the beginning of a flow to the due times of its operations,
	// in seconds; 0: flows have one step. Cohorts that are due before Lag lack later steps of flows.
	Lag float64  `json:"lag,omitempty"`
	All []Cohort `json:"all"`
}

// Cohort holds the operations that were due in one part of a load.
type Cohort struct {
	OK int64 `json:"ok"` // right answers
	// Buckets and Counts are the histogram of response times: the buckets that are not empty, in ascending
	// order (see TimeBucket), and the number of operations in each.
	Buckets []int   `json:"buckets,omitempty"`
	Counts  []int64 `json:"counts,omitempty"`
}

// Check returns an error for a negative lag or count, an unknown bucket or a bucket without its count, as in
// a damaged record. SumCohorts relies on valid buckets.
func (c Cohorts) Check() error {
	if c.Lag < 0 {
		return fmt.Errorf("the lag of its cohorts is %g s", c.Lag)
	}
	for _, cohort := range c.All {
		if cohort.OK < 0 {
			return fmt.Errorf("a cohort has %d right answers", cohort.OK)
		}
		if len(cohort.Buckets) != len(cohort.Counts) {
			return fmt.Errorf("a cohort has %d buckets and %d counts", len(cohort.Buckets), len(cohort.Counts))
		}
		for i, bucket := range cohort.Buckets {
			if bucket < 0 || bucket >= TimeBuckets {
				return fmt.Errorf("a cohort has the bucket %d: there are 0 to %d", bucket, TimeBuckets-1)
			}
			if n := cohort.Counts[i]; n < 0 {
				return fmt.Errorf("a cohort has %d operations in the bucket %d", n, bucket)
			}
		}
	}
	return nil
}

// Operations returns how many operations were due.
func (c Cohort) Operations() int64 {
	var sum int64
	for _, n := range c.Counts {
		sum += n
	}
	return sum
}

// SumCohorts merges cohorts into one.
func SumCohorts(cohorts ...Cohort) Cohort {
	var all Cohort
	var counts [TimeBuckets]int64
	for _, c := range cohorts {
		all.OK += c.OK
		for i, bucket := range c.Buckets {
			counts[bucket] += c.Counts[i]
		}
	}
	for bucket, n := range counts {
		if n > 0 {
			all.Buckets = append(all.Buckets, bucket)
			all.Counts = append(all.Counts, n)
		}
	}
	return all
}

// Add returns the sum of the cohorts of two generators or loops that shared a load. It ignores other if its
// cohorts differ in length or number.
func (c Cohorts) Add(other Cohorts) Cohorts {
	if c.Seconds == 0 {
		return other
	}
	if other.Seconds != c.Seconds || len(other.All) != len(c.All) {
		return c
	}
	sum := Cohorts{Seconds: c.Seconds, Lag: max(c.Lag, other.Lag), All: make([]Cohort, len(c.All))}
	for i := range sum.All {
		sum.All[i] = SumCohorts(c.All[i], other.All[i])
	}
	return sum
}

// Buckets of response times are 1/128 to 1/64 of the time wide, but at least a unit of 128 ns. They end at
// 2^32 units, about nine minutes.
const (
	unitBits   = 7
	octaveBits = 6 // two to this power is the number of buckets in an octave
	// TimeBuckets is the number of buckets.
	TimeBuckets = (33 - octaveBits) << octaveBits
)

// TimeBucket returns the bucket of a response time. The last bucket also holds all longer times.
func TimeBucket(d time.Duration) int {
	units := uint64(max(d, 0)) >> unitBits
	octave := max(0, bits.Len64(units)-octaveBits-1)
	return min(octave<<octaveBits+int(units>>octave), TimeBuckets-1)
}

// BucketTime returns the middle of a bucket, in seconds.
func BucketTime(bucket int) float64 {
	octave := max(0, bucket>>octaveBits-1)
	units := float64(bucket-octave<<octaveBits) + 0.5
	return math.Ldexp(units, octave+unitBits) / float64(time.Second)
}
