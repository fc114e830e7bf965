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
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// warming returns a server. The time that an answer takes depends on the age of the server.
func warming(t *testing.T, takes func(age time.Duration) time.Duration) (url string, seen *atomic.Int64) {
	begun := time.Now()
	seen = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		time.Sleep(takes(time.Since(begun)))
		_, _ = io.WriteString(w, "fine")
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// TestAWarmUpGoesOnUntilTheLoadIsSteady: it goes on until then, but not longer than its limit. None of
// its operations is cancelled, and the measured load follows in both cases.
func TestAWarmUpGoesOnUntilTheLoadIsSteady(t *testing.T) {
	testset.Need(t, "it takes a minute where compilers make the load unsteady")
	const fast, slow = 10 * time.Millisecond, 40 * time.Millisecond
	for name, c := range map[string]struct {
		takes  func(age time.Duration) time.Duration
		least  scenario.Duration
		limit  scenario.Duration
		steady bool
		whole  bool // it lasts until the limit
	}{
		"a compiler": {func(age time.Duration) time.Duration { return max(fast, slow-age/50) }, 0,
			60_000 * ms, true, false},
		"no sooner than it may": {func(time.Duration) time.Duration { return fast }, 5_000 * ms, 60_000 * ms, true,
			false},
		"a swing": {func(age time.Duration) time.Duration {
			return []time.Duration{fast, slow}[int(age.Seconds())%2]
		}, 0, 5_000 * ms, false, true},
		"slower after a second": {func(age time.Duration) time.Duration {
			return []time.Duration{fast, slow}[min(1, int(age.Seconds()))]
		}, 0, 6_000 * ms, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they sleep
			url, seen := warming(t, c.takes)
			job := jobFor(t, url)
			job.Spec.Load = scenario.Load{Users: 4, Duration: 500 * ms}
			job.Warmup = c.least
			job.WarmupLimit = c.limit
			u := ready(t, &job)
			warm := seen.Load()
			report := u.play()
			w := report.WarmUp
			// A warm-up that ends at its limit is steady unless a change is found, and a busy host may cause one.
			if w == nil || w.Steady != c.steady && !(c.steady && c.whole && w.Left > 1) ||
				c.whole != (w.Seconds >= time.Duration(c.limit).Seconds()) ||
				w.Seconds < max(3, time.Duration(c.least).Seconds()) {
				t.Fatalf("warm-up %+v", w)
			}
			var answered int64
			for _, s := range w.Slices {
				answered += s.OK
			}
			if answered == 0 || answered > warm || report.Outcome.Results.Count(record.All,
				record.OK) != seen.Load()-warm {
				t.Errorf("%d answers in the slices of the warm-up, %d to it and %d to all; in the results %d", answered,
					warm, seen.Load(), report.Outcome.Results.Count(record.All, record.OK))
			}
		})
	}
}

// TestAWarmUpLeavesNothingOpen: an audit has no attempt of unknown outcome from it.
func TestAWarmUpLeavesNothingOpen(t *testing.T) {
	t.Setenv("CLEAVE_DIR", t.TempDir())
	url, _ := warming(t, func(time.Duration) time.Duration { return 10 * time.Millisecond })
	job := jobFor(t, url)
	job.Spec.Load = scenario.Load{Users: 4, Duration: 500 * ms}
	job.WarmupLimit = 60_000 * ms
	job.History = "history.jsonl"
	u := ready(t, &job)
	u.play()
	if all, right := bytes.Count(u.handed, []byte("\n")),
		bytes.Count(u.handed, []byte(`"end":"ok"`)); all == 0 || all != right ||
		!bytes.Contains(u.handed, []byte(`"warm_up":true`)) {
		t.Errorf("%d of %d attempts ended rightly", right, all)
	}
}
