package record

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// cohorts counts the operations of one loop by their due time. Its memory is bounded by the number of
// cohorts, and does not depend on the length of the load.
type cohorts struct {
	length       time.Duration // of a cohort
	all          [lab.CohortsOfLoad]*cohort
	lags         [lab.TimeBuckets]uint64 // operations by the time after their flow was due
	severalSteps bool                    // some flows had several steps
}

// cohort holds the operations that were due in one part of the load, by response time.
type cohort struct {
	ok    int64
	times [lab.TimeBuckets]uint32
}

// newCohorts returns empty cohorts for a load of a length.
func newCohorts(load time.Duration) *cohorts {
	return &cohorts{length: max(1, (load+lab.CohortsOfLoad-1)/lab.CohortsOfLoad)}
}

// add counts an operation. Operations that were due after the load belong to no cohort.
func (c *cohorts) add(s *Sample) {
	at := int64(s.Intended / c.length)
	if at < 0 || at >= lab.CohortsOfLoad {
		return
	}
	if c.all[at] == nil {
		c.all[at] = &cohort{}
	}
	if s.Outcome == OK {
		c.all[at].ok++
	}
	c.all[at].times[lab.TimeBucket(s.Finished-s.Intended)]++
	c.lags[lab.TimeBucket(s.Lag)]++
	c.severalSteps = c.severalSteps || s.Follows
}

// counted returns the counts so far.
func (c *cohorts) counted() lab.Cohorts {
	out := lab.Cohorts{Seconds: c.length.Seconds(), All: make([]lab.Cohort, lab.CohortsOfLoad)}
	for i, one := range c.all {
		if one == nil {
			continue
		}
		out.All[i].OK = one.ok
		for bucket, n := range one.times {
			if n > 0 {
				out.All[i].Buckets = append(out.All[i].Buckets, bucket)
				out.All[i].Counts = append(out.All[i].Counts, int64(n))
			}
		}
	}
	if c.severalSteps {
		out.Lag = c.lag()
	}
	return out
}

// lag returns the 99th percentile of the time by which operations were due after their flow, in seconds.
func (c *cohorts) lag() float64 {
	var all, sum uint64
	for _, n := range c.lags {
		all += n
	}
	for bucket, n := range c.lags {
		if sum += n; 100*sum >= 99*all {
			return lab.BucketTime(bucket)
		}
	}
	return 0
}
