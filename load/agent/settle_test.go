package agent

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
)

// settling is a target that has work left for a while after its answers.
type settling struct {
	operations atomic.Int64
	questions  chan int64   // the number of operations so far, for each question
	between    atomic.Int64 // number of questions before another load
	status     int
	hold       time.Duration
}

func (s *settling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/settled" {
		s.operations.Add(1)
		_, _ = io.WriteString(w, "done soon")
		return
	}
	if r.URL.RawQuery == "follows" {
		s.between.Add(1)
	}
	s.questions <- s.operations.Load()
	time.Sleep(s.hold)
	w.WriteHeader(s.status)
}

// TestTheLoadIsOverWhenTheTargetHasSettled: the target is asked once after the warm-up and once after the
// last operation. The time that it takes counts as time of the load.
func TestTheLoadIsOverWhenTheTargetHasSettled(t *testing.T) {
	target := &settling{questions: make(chan int64, 9), status: http.StatusNoContent,
		hold: 300 * time.Millisecond}
	server := httptest.NewServer(target)
	defer server.Close()
	job := jobFor(t, server.URL)
	job.Warmup = 100 * ms
	job.Settle = Await{Path: "/settled", For: scenario.Duration(time.Minute)}
	job.Between = "/settled?follows"
	u := ready(t, &job)
	warm := target.operations.Load()
	u.command(lab.CommandStart)
	elapsed := u.expect(lab.EventFinished).ElapsedSeconds
	report := u.report()
	sent := report.Outcome.Summary.Sent
	close(target.questions)
	var asked []int64
	for operations := range target.questions {
		asked = append(asked, operations)
	}
	if want := []int64{warm, warm + sent}; !slices.Equal(asked, want) {
		t.Errorf("asked after %v operations, want %v", asked, want)
	}
	if n := target.between.Load(); n != 1 {
		t.Errorf("asked %d times what is asked between two loads, want it after the warm-up alone", n)
	}
	if elapsed < 0.795 { // the last flow is due, and then the target takes its time
		t.Errorf("finished after %g s", elapsed)
	}
	checkSpectra(t, report, sent)
}

// checkSpectra compares the distributions with the percentiles.
func checkSpectra(t *testing.T, report Report, sent int64) {
	t.Helper()
	spectra := report.Spectra()
	for quantity, p := range map[string]struct{ p50, top *float64 }{
		lab.ResponseTime: {report.Outcome.Summary.ResponseTime.P50, report.Outcome.Summary.ResponseTime.Max},
		lab.ServiceTime:  {report.Outcome.Summary.ServiceTime.P50, report.Outcome.Summary.ServiceTime.Max},
	} {
		got := map[float64]float64{}
		last := 0.0
		for _, q := range spectra[quantity] {
			got[q.Share] = q.Value
			if q.Value < last {
				t.Errorf("%s falls to %g at %g", quantity, q.Value, q.Share)
			}
			last = q.Value
		}
		if got[0.5] != *p.p50 || got[1] != *p.top || got[0] <= 0 {
			t.Errorf("%s %v, want %g at 0.5 and %g at 1", quantity, got, *p.p50, *p.top)
		}
		if _, there := got[0.999]; there {
			t.Errorf("%d operations say where the last thousandth begins", sent)
		}
	}
}

func TestALoadFailsWhereTheTargetDoesNotSettle(t *testing.T) {
	server := httptest.NewServer(&settling{questions: make(chan int64, 9), status: http.StatusNotFound})
	defer server.Close()
	job := jobFor(t, server.URL)
	job.Settle = Await{Path: "/settled", For: scenario.Duration(time.Minute)}
	u := ready(t, &job)
	u.command(lab.CommandStart)
	if event := u.expect(lab.EventFailed); !strings.Contains(event.Error, "GET /settled: status 404") {
		t.Errorf("failed with %q, want path and status", event.Error)
	}
	if err := <-u.ended; err == nil {
		t.Error("it ended well")
	}
}

func TestEmptyReportsHaveNoSpectra(t *testing.T) {
	var report Report
	if err := json.Unmarshal([]byte(`{}`), &report); err != nil || report.Spectra() != nil {
		t.Errorf("spectra %v (%v) of nothing", report.Spectra(), err)
	}
}
