package lab

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestTimesFallIntoNarrowBuckets(t *testing.T) {
	last := -1
	for d := 20 * time.Microsecond; d < 5*time.Minute; d += d / 200 {
		bucket := TimeBucket(d)
		if bucket < last || bucket >= TimeBuckets {
			t.Fatalf("%v is in bucket %d, a shorter time in %d of %d", d, bucket, last, TimeBuckets)
		}
		last = bucket
		// The middle of a bucket is at most half of the widest bucket away, which is 1/64 of the time.
		if off := BucketTime(bucket)/d.Seconds() - 1; math.Abs(off) > 1.0/128 {
			t.Errorf("%v is shown as %g s", d, BucketTime(bucket))
		}
	}
	if TimeBucket(-time.Second) != 0 || TimeBucket(24*time.Hour) != TimeBuckets-1 {
		t.Error("times beyond the buckets do not count in the outermost")
	}
}

func TestCohortsAdd(t *testing.T) {
	a := Cohorts{Seconds: 1, Lag: 0.5, All: []Cohort{{OK: 3, Buckets: []int{2, 5}, Counts: []int64{1, 3}}, {}}}
	b := Cohorts{Seconds: 1, Lag: 0.2, All: []Cohort{{OK: 1, Buckets: []int{1, 5, 9}, Counts: []int64{1, 1, 1}},
		{OK: 2}}}
	sum := Cohorts{}.Add(a).Add(b)
	if c := sum.All[0]; c.OK != 4 || c.Operations() != 7 || !slices.Equal(c.Buckets, []int{1, 2, 5, 9}) ||
		!slices.Equal(c.Counts, []int64{1, 1, 4, 1}) || sum.All[1].OK != 2 || sum.Lag != 0.5 {
		t.Errorf("%+v", sum)
	}
	if sum := a.Add(Cohorts{Seconds: 2, All: []Cohort{{}, {}}}); sum.All[0].OK != 3 {
		t.Errorf("cohorts of another length were added: %+v", sum)
	}
}
