package trial

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// secondOf returns operations of one second, all of the same response time.
func secondOf(t *testing.T, number, n int, response time.Duration, outcome record.Outcome) Second {
	t.Helper()
	results := record.NewResults(record.Options{Operations: []string{"GET http://127.0.0.1:1/"}})
	results.From = time.Duration(number-1) * time.Second
	results.To = time.Duration(number) * time.Second
	for range n {
		results.Add(&record.Sample{Outcome: outcome, Intended: results.From, Sent: results.From,
			Finished: results.From + response})
	}
	return Second{Results: results}
}

// Long because it is a table.
func TestWatchSaysWhenAnObjectiveIsLost(t *testing.T) {
	const slow, quick = 100 * time.Millisecond, time.Millisecond
	type part struct {
		n        int
		response time.Duration
		outcome  record.Outcome
	}
	cases := []struct {
		name, objective string
		closed          bool
		parts           []part // second by second
		want            int    // second in which it is lost; zero: never
		why             string
	}{
		// 1,000 flows are planned: ten may be slow, and one for rounding.
		{"few slow ones", "p99<50ms", false, []part{{11, slow, record.OK}}, 0, ""},
		{"too many slow ones", "p99<50ms", false, []part{{100, quick, record.OK}, {12, slow, record.OK}}, 2,
			"12 operations miss p99<50ms, of at most 1000"},
		{"one above the maximum", "max<50ms", false, []part{{2, slow, record.OK}}, 1, "miss max<50ms"},
		{"errors", "errors<1%", false, []part{{12, quick, record.Reset}}, 1, "errors<1%"},
		{"missed in a row", "mean<50ms", false, []part{{1, slow, record.OK}, {1, slow, record.OK},
			{1, slow, record.OK}, {1, slow, record.OK}, {1, slow, record.OK}}, 5,
			"missed for 5 seconds in a row: mean is 99.98ms"},
		{"missed now and then", "mean<50ms", false, []part{{1, slow, record.OK}, {1, slow, record.OK},
			{1, quick, record.OK}, {1, slow, record.OK}, {1, slow, record.OK}, {1, slow, record.OK}}, 0, ""},
		{"seconds without answers", "p50<50ms", false, []part{{}, {}, {}, {}, {}, {}}, 0, ""},
		{"users may still make up for it", "p99<50ms", true, []part{{12, slow, record.OK}, {1, quick, record.OK}},
			0, ""},
		{"what rises", "achieved>99%,rate>1/s", false, []part{{}, {}, {}, {}, {}, {}}, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := specFor(t, "http://127.0.0.1:1/")
			s.Load.Duration = scenario.Duration(10 * time.Second)
			if c.closed {
				s.Load = scenario.Load{Users: 4}
			}
			limit := objective.MustParse(c.objective)
			watch := prepare(t, s).newLossWatch(limit)
			lostIn, why := 0, ""
			for i, p := range c.parts {
				lost, err := watch.addAndJudge(secondOf(t, i+1, p.n, p.response, p.outcome))
				testset.Must(t, err)
				if lost != "" && lostIn == 0 {
					lostIn, why = i+1, lost
				}
			}
			if lostIn != c.want || !strings.Contains(why, c.why) {
				t.Errorf("lost in second %d: %s; want %d: %s", lostIn, why, c.want, c.why)
			}
		})
	}
}

// TestALostLoadIsBrokenOff: the load would otherwise last an hour.
func TestALostLoadIsBrokenOff(t *testing.T) {
	s := specFor(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	s.Load.Duration = scenario.Duration(time.Hour)
	limit := objective.MustParse("max<0.001ms")
	prepared := prepare(t, s)
	watched, watch := prepared.Watched(t.Context(), limit, true)
	o, err := prepared.Play(watched, Hooks{Second: watch})
	o, err = Aborted(watched, o, err)
	if err != nil || !strings.Contains(o.Summary.Aborted, "cannot be met any more") || o.Summary.Sent == 0 {
		t.Errorf("error %v, aborted %q after %d operations", err, o.Summary.Aborted, o.Summary.Sent)
	}
	if o.Summary.Duration >= 3600 {
		t.Errorf("the load lasted %g s", o.Summary.Duration)
	}
}

func TestAnInterruptedLoadKeepsWhatWasDone(t *testing.T) {
	s := specFor(t, serve(t, fine))
	s.Load.Duration = scenario.Duration(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	o, err := prepare(t, s).Play(ctx, Hooks{Second: func(Second) error { cancel(); return nil }})
	if err == nil || o.Results == nil || o.Summary.Sent == 0 {
		t.Errorf("error %v, %d operations", err, o.Summary.Sent)
	}
}

func TestSecondsWaitForAllSources(t *testing.T) {
	var got []int64
	seconds := NewSeconds(2, func(s Second) error {
		got = append(got, int64(s.Results.To.Seconds()), s.Results.Sent(record.All))
		return fmt.Errorf("second %v", s.Results.To.Seconds())
	})
	take := func(source, number, n int) { seconds.Take(source, secondOf(t, number, n, 0, record.OK)) }
	take(0, 1, 1)
	take(0, 2, 2)
	if len(got) != 0 {
		t.Errorf("passed on %v before the other source had any", got)
	}
	take(1, 1, 10)
	take(1, 3, 30)
	seconds.End(0)
	seconds.End(1)
	if want := []int64{1, 11, 2, 2, 3, 30}; !slices.Equal(got, want) {
		t.Errorf("passed on %v, want %v", got, want)
	}
	if err := seconds.Err(); err == nil || err.Error() != "second 1" {
		t.Errorf("error %v, want the first", err)
	}
}

// TestSecondsOfOddLengthsHaveTheirNumbers: what two sources hand in for the same interval is one sum. 0.3 s
// is no exact fraction.
func TestSecondsOfOddLengthsHaveTheirNumbers(t *testing.T) {
	const length, parts = 300 * time.Millisecond, 1000
	passed := 0
	seconds := NewSeconds(2, func(s Second) error {
		passed++
		return nil
	})
	seconds.length = length
	for i := range parts {
		for source := range 2 {
			one := secondOf(t, 1, 1, 0, record.OK)
			one.Results.From = time.Duration(i) * length
			one.Results.To = time.Duration(i+1) * length
			seconds.Take(source, one)
		}
		if passed != i+1 {
			t.Fatalf("passed on %d parts of %d", passed, i+1)
		}
	}
}

// TestRowsListEveryOperation: of two steps the second follows the first and fails.
func TestRowsListEveryOperation(t *testing.T) {
	var n atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base/second" {
			w.WriteHeader(http.StatusConflict)
		}
		n.Add(1)
		_, _ = io.WriteString(w, "fine")
	})
	s := specFor(t, url)
	s.Loops = 2
	s.Target = url + "/base/"
	s.Scenario.Flows[0].Steps = []scenario.Step{
		{Name: "first", Request: "GET /first?a=1"}, {Name: "second", Request: "POST /second", Body: "x"},
		{Name: "third", Request: "GET /third"},
	}
	var rows []record.Row
	o, err := prepare(t, s).Play(t.Context(), Hooks{Row: func(r record.Row) error {
		rows = append(rows, r)
		return nil
	}})
	testset.Must(t, err)
	if int64(len(rows)) != n.Load() || o.Summary.Sent != n.Load() {
		t.Fatalf("%d rows, %d sent, the server saw %d", len(rows), o.Summary.Sent, n.Load())
	}
	var seconds int64
	for _, r := range rows {
		switch r.Operation {
		case "first":
			if r.URL != url+"/base/first?a=1" || r.Follows || r.Status != "200" || r.Message != "OK" ||
				r.Failure != "" {
				t.Fatalf("first step: %+v", r)
			}
		case "second":
			seconds++
			if r.URL != url+"/base/second" || !r.Follows || r.Status != "409" || r.Failure != "bad-status" ||
				r.Elapsed <= 0 || r.Received == 0 {
				t.Fatalf("second step: %+v", r)
			}
		}
		if age := time.Since(r.Started); age < 0 || age > time.Minute || r.Active != 4 ||
			!strings.HasPrefix(r.Loop, "loop ") {
			t.Fatalf("row: %+v", r)
		}
	}
	if o.Summary.Skipped != seconds || o.Summary.Operations[2].Skipped != seconds {
		t.Errorf("%d steps skipped, %d of the third, want %d", o.Summary.Skipped, o.Summary.Operations[2].Skipped,
			seconds)
	}
	if flows := int64(*o.Summary.OfferedRate*o.Summary.Duration + 0.5); flows != 40 ||
		o.Summary.AchievedRate > *o.Summary.OfferedRate {
		t.Errorf("%d flows offered, want 40; %g/s achieved of %g/s", flows, o.Summary.AchievedRate,
			*o.Summary.OfferedRate)
	}
}
