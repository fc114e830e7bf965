package agent

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/stats"
)

// playLoad plays a load on a server and returns the cohorts of the report. The function of the server
// returns the time that an answer takes, by the number of the request and by the age of the server in
// lengths of a load.
func playLoad(
	t *testing.T, load scenario.Load, takes func(number int64, age float64) time.Duration,
) lab.Cohorts {
	t.Helper()
	var seen atomic.Int64
	var begun atomic.Pointer[time.Time]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now()
		begun.CompareAndSwap(nil, &now)
		age := now.Sub(*begun.Load()).Seconds() / time.Duration(load.Duration).Seconds()
		time.Sleep(takes(seen.Add(1), age))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	job := jobFor(t, server.URL)
	job.Spec.Load = load
	job.Spec.Connections = 256
	u := ready(t, &job)
	report := u.play()
	if report.Outcome.Cohorts == nil {
		t.Fatal("the report has no cohorts")
	}
	return *report.Outcome.Cohorts
}

// TestAnswersOfRealServersCountWhereTheyWereDue: answers that were still in flight at the end of a second
// once made servers with constant times look unsteady, and so did the 99th percentile of seconds of 100
// answers. Neither depends on how busy this host is. Response times do, so the test looks only for a
// threefold increase.
func TestAnswersOfRealServersCountWhereTheyWereDue(t *testing.T) {
	open := scenario.Load{Rate: "100", Duration: 2000 * ms}
	for name, c := range map[string]struct {
		takes func(number int64, age float64) time.Duration
		leaks bool
	}{
		"every 50th answer takes longer": {func(number int64, _ float64) time.Duration {
			return time.Duration(20+60*(number%50/49)) * time.Millisecond
		}, false},
		"500 ms": {func(int64, float64) time.Duration { return 500 * time.Millisecond }, false},
		"from 40 to 120 ms": {func(_ int64, age float64) time.Duration {
			return time.Duration((40 + 80*age) * float64(time.Millisecond))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they sleep
			var loads []lab.Cohorts
			for range 3 {
				loads = append(loads, playLoad(t, open, c.takes))
			}
			for i, one := range loads[0].All {
				if n := one.Operations(); n < 3 || n > 4 || one.OK != n {
					t.Errorf("%d operations of cohort %d, %d of them right; want 3 or 4", n, i, one.OK)
				}
			}
			if rate := stats.Follow(loads, stats.FollowRate, 0.05); rate.Changes() || rate.HalvesDiffer(0.05, 0.99) {
				t.Errorf("right answers of a constant load: %+v", rate)
			}
			if tail := stats.Follow(loads, stats.FollowTail, 0.05); tail.Quantity != "p90" {
				t.Errorf("of 200 operations %s is followed, want p90", tail.Quantity)
			}
			median := stats.Follow(loads, stats.FollowMedian, 0.05)
			if c.leaks && !median.Changes() && !median.HalvesDiffer(0.05, 0.95) {
				t.Errorf("a leak was missed: %+v", median)
			}
		})
	}
}
