package agent

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/stats"
)

// warmed returns the warm-up of a job whose target takes a time for each answer, which depends on the time
// since the beginning. It hands in the slices of four users as a load does, and no clock is read.
func warmed(t *testing.T, job *Job, takes func(at time.Duration) time.Duration) lab.WarmUp {
	t.Helper()
	s := &served{Job: *job}
	var err error
	s.trial, err = job.Spec.Check()
	testset.Must(t, err)
	longest := time.Duration(job.WarmupLimit)
	var hooks trial.Hooks
	conclude := s.endWhenSteady(&hooks, longest)
	// The slice after the longest time only has answers to operations that were begun before.
	for from := time.Duration(0); from <= longest && !hooks.Enough.Load(); from += hooks.Interval {
		results := record.NewResults(record.Options{Operations: s.trial.Operations()})
		results.From = from
		results.To = from + hooks.Interval
		each := takes(from)
		for range 4 * hooks.Interval / each {
			results.Add(&record.Sample{Outcome: record.OK, Intended: from, Sent: from, Finished: from + each})
		}
		testset.Must(t, hooks.Second(trial.Second{Results: results}))
	}
	conclude()
	return *s.warm
}

// TestAWarmUpGoesOnUntilTheLoadIsSteady: it goes on until then, no shorter than it must, and no longer than
// its limit.
func TestAWarmUpGoesOnUntilTheLoadIsSteady(t *testing.T) {
	const fast, slow = 10 * time.Millisecond, 40 * time.Millisecond
	steady := func(time.Duration) time.Duration { return fast }
	for name, c := range map[string]struct {
		takes        func(at time.Duration) time.Duration
		least, limit scenario.Duration
		from, to     float64 // bounds of its length in seconds
		steady       bool
		course       stats.SteadyKind // empty: any
	}{
		"steady":                {steady, 0, 60_000 * ms, 3, 3, true, stats.Flat},
		"no sooner than it may": {steady, 5_000 * ms, 60_000 * ms, 5, 5, true, stats.Flat},
		"a compiler": {func(at time.Duration) time.Duration { return max(fast, slow-at/50) }, 0, 60_000 * ms,
			3, 10, true, stats.WarmUp},
		"a swing": {func(at time.Duration) time.Duration {
			return []time.Duration{fast, slow}[int(at.Seconds())%2]
		}, 0, 5_000 * ms, 5, 5, false, ""},
		"slower after a second": {func(at time.Duration) time.Duration {
			return []time.Duration{fast, slow}[min(1, int(at.Seconds()))]
		}, 0, 6_000 * ms, 6, 6, true, stats.Slowdown},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobFor(t, "http://127.0.0.1:1")
			job.Spec.Load = scenario.Load{Users: 4, Duration: 500 * ms}
			job.Warmup = c.least
			job.WarmupLimit = c.limit
			w := warmed(t, &job, c.takes)
			if w.Steady != c.steady || w.Seconds < c.from || w.Seconds > c.to {
				t.Errorf("steady: %v, after %g s; want %v, after %g to %g s", w.Steady, w.Seconds, c.steady,
					c.from, c.to)
			}
			if c.course != "" && w.Course != string(c.course) {
				t.Errorf("its course is %s, want %s", w.Course, c.course)
			}
		})
	}
}

// TestAWarmUpLeavesNothingOpen, whether it is steady or ends at its limit: none of its operations is
// cancelled, so an audit has no attempt of unknown outcome from it, and the measured load follows.
func TestAWarmUpLeavesNothingOpen(t *testing.T) {
	for name, limit := range map[string]scenario.Duration{"steady": 60_000 * ms, "too short": 1_000 * ms} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CLEAVE_DIR", t.TempDir())
			var seen atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen.Add(1)
				time.Sleep(10 * time.Millisecond) // of users who wait for it, not of the test
				_, _ = io.WriteString(w, "fine")
			}))
			defer server.Close()
			job := jobFor(t, server.URL)
			job.Spec.Load = scenario.Load{Users: 4, Duration: 500 * ms}
			job.Spec.Timeout = 60_000 * ms
			job.WarmupLimit = limit
			job.History = "history.jsonl"
			u := ready(t, &job)
			warm := seen.Load()
			report := u.play()
			var answered int64
			for _, s := range report.WarmUp.Slices {
				answered += s.OK
			}
			if measured := report.Outcome.Results.Count(record.All, record.OK); answered > warm ||
				measured == 0 || warm+measured != seen.Load() {
				t.Errorf("%d answers in the slices of the warm-up, %d to it, %d measured and %d in all",
					answered, warm, measured, seen.Load())
			}
			all := int64(bytes.Count(u.handed, []byte("\n")))
			right := int64(bytes.Count(u.handed, []byte(`"end":"ok"`)))
			ofWarmUp := int64(bytes.Count(u.handed, []byte(`"warm_up":true`)))
			if warm == 0 || ofWarmUp != warm || right != all || all != seen.Load() {
				t.Errorf("%d of %d attempts ended rightly, %d are of the warm-up; want %d, and %d of it",
					right, all, ofWarmUp, seen.Load(), warm)
			}
		})
	}
}
