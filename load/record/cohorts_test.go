package record

import (
	"math"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Operations count in the second in which they were due, however late they end. If they counted by their
// end, slow ones would be missing at first.
func TestCohortsCountByWhenOperationsWereDue(t *testing.T) {
	const rate, load = 100, 3 * time.Second
	r := NewRecorder(Options{Operations: []string{"get"}, Window: load, Cohorts: true})
	results := make(chan *Results)
	go func() {
		all, _ := Collect(nil, r)
		results <- all
	}()
	for i := range 4 * rate { // the last second of them after the load
		due := time.Duration(i) * time.Second / rate
		outcome := OK
		if i%10 == 0 {
			outcome = BadStatus
		}
		took := time.Duration(20+60*(i%50/49)) * time.Millisecond
		r.Record(Sample{Intended: due, Sent: due, Finished: due + took, Outcome: outcome})
	}
	r.Close(5 * time.Second)
	if all := <-results; all.Sent(All) != 4*rate {
		t.Errorf("%d operations in all", all.Sent(All))
	}
	c := r.Cohorts()
	if len(c.All) != lab.CohortsOfLoad || c.Seconds != 0.05 || c.Lag != 0 {
		t.Fatalf("%d cohorts of %g s, lag %g", len(c.All), c.Seconds, c.Lag)
	}
	var slow, all, ok int64
	for i, one := range c.All {
		if one.Operations() != 5 {
			t.Errorf("cohort %d has %d operations, want 5", i, one.Operations())
		}
		all += one.Operations()
		ok += one.OK
		for k, bucket := range one.Buckets {
			if math.Abs(lab.BucketTime(bucket)/0.08-1) < 0.01 {
				slow += one.Counts[k]
			}
		}
	}
	if all != 3*rate || ok != 27*rate/10 || slow != 3*rate/50 {
		t.Errorf("%d operations, %d right, %d slow", all, ok, slow)
	}
}

func TestCohortsKnowHowLongFlowsTakeToBeComplete(t *testing.T) {
	c := newCohorts(6 * time.Second)
	for i := range 600 {
		due := time.Duration(i) * 10 * time.Millisecond
		for step := range 3 {
			lag := time.Duration(step) * 200 * time.Millisecond
			c.add(&Sample{Intended: due + lag, Lag: lag, Follows: step > 0, Finished: due + lag + time.Millisecond})
		}
	}
	out := c.counted()
	if math.Abs(out.Lag/0.4-1) > 0.01 || out.All[0].Operations() != 10 || out.All[30].Operations() != 30 {
		t.Errorf("lag %g, %d and %d operations in the first and in the middle", out.Lag, out.All[0].Operations(),
			out.All[30].Operations())
	}
	none := lab.TimeBucket(0)
	c.lags[none] = math.MaxUint32 // a load of hours
	c.add(&Sample{})
	if lag := c.lag(); lag != lab.BucketTime(none) {
		t.Errorf("lag %g after many operations without one", lag)
	}
	if NewRecorder(Options{Operations: []string{"get"}}).Cohorts().All != nil {
		t.Error("cohorts without the option")
	}
}
