package trial

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestSettleWaitsForTheAnswer asks targets that are done at once, later, or never.
func TestSettleWaitsForTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		limit  time.Duration
		answer func(asked int64, w http.ResponseWriter, r *http.Request)
		want   string // of the error; empty: none
		asked  int64
	}{
		"done at once": {time.Minute, func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}, "", 1},
		"back again": {time.Minute, func(asked int64, w http.ResponseWriter, _ *http.Request) {
			if asked < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, "", 3},
		"not known": {time.Minute, func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
		}, "GET /settled: status 404", 1},
		"never": {time.Second, func(_ int64, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"did not say within 1s that its work is done", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			url := serve(t, func(w http.ResponseWriter, r *http.Request) { c.answer(asked.Add(1), w, r) })
			_, err := prepare(t, specFor(t, url)).Settle(t.Context(), "/settled", c.limit)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if got := asked.Load(); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
		})
	}
}

// TestAwaitAsksAgain where the first question is never answered.
func TestAwaitAsksAgain(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done()
		}
	})
	if err := prepare(t, specFor(t, url)).Await(t.Context(), "/health", time.Minute); err != nil ||
		asked.Load() != 2 {
		t.Errorf("after %d questions: %v", asked.Load(), err)
	}
}

// TestSettleWaitsForTheTarget: nobody listens, so the wait ends with its time limit.
func TestSettleWaitsForTheTarget(t *testing.T) {
	listener := listen(t)
	absent := prepare(t, specFor(t, "http://"+listener.Addr().String()))
	testset.Must(t, listener.Close())
	if _, err := absent.Settle(t.Context(), "/settled", 30*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "within 30ms") {
		t.Errorf("error %v, want one that names the time", err)
	}
}

// TestATargetMayKnowBetter: the answer says how long the work took.
func TestATargetMayKnowBetter(t *testing.T) {
	for said, known := range map[string]bool{"settle;dur=0.5": true, "cache, settle;dur=0.5": true,
		"settle;dur=1.2.3": false, "unsettle;dur=0.5": false, "": false} {
		answer := http.Response{Header: http.Header{"Server-Timing": {said}}}
		want := time.Hour
		if known {
			want = 500 * time.Microsecond
		}
		if got := settledAfter(&answer, time.Hour); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
	for _, said := range []string{"settle;dur=99", "settle;dur=99999999999999999999"} {
		longer := http.Response{Header: http.Header{"Server-Timing": {said}}}
		if got := settledAfter(&longer, time.Millisecond); got != time.Millisecond {
			t.Errorf("%q: %v, and a millisecond was waited", said, got)
		}
	}
}

// TestTheTimeOfALaterRequestIsAddedToTheWait: the target has been working since the first request.
func TestTheTimeOfALaterRequestIsAddedToTheWait(t *testing.T) {
	const busy = 100 * time.Millisecond
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server-Timing", "settle;dur=0")
		if asked.Add(1) == 1 {
			time.Sleep(busy)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	took, err := prepare(t, specFor(t, url)).Settle(t.Context(), "/settled", time.Minute)
	if err != nil || took < busy {
		t.Errorf("the work took %v (%v), and the target was busy for %v", took, err, busy)
	}
}

// TestASearchWaitsForTheWork judges probes by the time that the work took after the last answer.
func TestASearchWaitsForTheWork(t *testing.T) {
	limit := objective.MustParse("p99<200ms")
	for name, c := range map[string]struct {
		took time.Duration
		want bool
	}{"in time": {200 * time.Millisecond, true}, "too late": {201 * time.Millisecond, false}} {
		settled := 0
		search := CapacitySearch{Objective: limit, Settle: func(context.Context) (time.Duration, error) {
			settled++
			return c.took, nil
		}, Play: func(context.Context, scenario.Load, uint64) (Outcome, error) {
			var o Outcome
			o.Summary.ResponseTime.P99 = new(0.001)
			return o, nil
		}}
		_, probe, err := search.probe(t.Context(), scenario.Load{}, 10, 1)
		testset.Must(t, err)
		if probe.Pass != c.want || settled != 1 {
			t.Errorf("%s: pass %v %v after %d questions, want %v after one", name, probe.Pass, probe.Reasons, settled,
				c.want)
		}
	}
}

// TestAVerdictThatALateClientCannotChangeCounts: late sends make measured times longer, never shorter.
func TestAVerdictThatALateClientCannotChangeCounts(t *testing.T) {
	limit := objective.MustParse("p99<100ms")
	for name, c := range map[string]struct {
		p99, lateP99, lateMax float64 // response time and lateness, in seconds
		onlyLate              bool    // the client had no other limit
		pass, verdict         bool    // verdict: the trial decides about the rate
	}{
		"passes in spite of it":       {0.050, 0.010, 0.010, true, true, true},
		"fails without it":            {0.150, 0.010, 0.010, true, false, true},
		"may fail because of it":      {0.105, 0.010, 0.010, true, false, false},
		"late by little of 100 ms":    {0.105, 0.0011, 0.010, true, false, true},
		"late by a little too much":   {0.105, 0.0051, 0.010, true, false, false},
		"the client had no cores":     {0.050, 0.010, 0.010, false, false, false},
		"no cores, and late by a bit": {0.050, 0.0011, 0.010, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			plays := 0
			search := CapacitySearch{Objective: limit}
			search.Play = func(context.Context, scenario.Load, uint64) (Outcome, error) {
				plays++
				var o Outcome
				o.Summary.ResponseTime.P99 = &c.p99
				o.Summary.SendLateness.P99 = &c.lateP99
				o.Summary.SendLateness.Max = &c.lateMax
				o.Summary.Generator = record.Generator{Limited: true, LimitedBy: []string{"late"}}
				if c.onlyLate {
					o.Summary.Generator.Moved = []record.Moved{{Quantile: 0.99}}
				}
				return o, nil
			}
			o, probe, err := search.probe(t.Context(), scenario.Load{}, 10, 1)
			var limited *ClientLimitError
			if decided := !errors.As(err, &limited); decided != c.verdict || probe.Pass != c.pass {
				t.Fatalf("pass %v, error %v, want %v, and a verdict: %v", probe.Pass, err, c.pass, c.verdict)
			}
			if c.verdict && (plays != 1 || o.Summary.Generator.Limited || len(o.Summary.Notes) != 1) {
				t.Errorf("%d plays, generator %+v, notes %q, want one play with a note", plays, o.Summary.Generator,
					o.Summary.Notes)
			}
		})
	}
}

// stolen is a host that withholds these shares of processor time, one for each load.
type stolen struct {
	lab.Host
	shares []float64
}

func (s *stolen) Observe() (lab.Observation, error) {
	share := s.shares[0]
	s.shares = s.shares[1:]
	return observed(share), nil
}

type observed float64

func (observed) Open()  {}
func (observed) Close() {}
func (o observed) End(float64) lab.Conditions {
	return lab.Conditions{StealShare: float64(o)}
}

// TestALoadThatTheHostDisturbedIsPlayedAgain: only that load is played again, and only if it failed.
func TestALoadThatTheHostDisturbedIsPlayedAgain(t *testing.T) {
	limit := objective.MustParse("p99<100ms")
	for name, c := range map[string]struct {
		steal     []float64
		p99       []float64
		pass      bool
		disturbed bool
	}{
		"passes although disturbed":   {[]float64{0.05}, []float64{0.05}, true, false},
		"fails because disturbed":     {[]float64{0.05, 0.001}, []float64{0.2, 0.05}, true, false},
		"fails by itself":             {[]float64{0.001}, []float64{0.2}, false, false},
		"fails undisturbed as well":   {[]float64{0.05, 0.001}, []float64{0.2, 0.2}, false, false},
		"disturbed every time":        {[]float64{0.05, 0.05, 0.05}, []float64{0.2, 0.2, 0.2}, false, true},
		"passes at the third attempt": {[]float64{0.05, 0.05, 0.05}, []float64{0.2, 0.2, 0.05}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			plays := 0
			search := CapacitySearch{Objective: limit, Host: &stolen{shares: c.steal}, MaxSteal: 0.01,
				Play: func(context.Context, scenario.Load, uint64) (Outcome, error) {
					var o Outcome
					o.Summary.ResponseTime.P99 = &c.p99[plays]
					plays++
					return o, nil
				}}
			_, probe, err := search.probe(t.Context(), scenario.Load{}, 10, 1)
			testset.Must(t, err)
			if probe.Pass != c.pass || (probe.Disturbed != "") != c.disturbed || plays != len(c.p99) {
				t.Errorf("%d plays, pass %v, disturbed %q; want %d, %v, %v", plays, probe.Pass, probe.Disturbed,
					len(c.p99), c.pass, c.disturbed)
			}
		})
	}
}
