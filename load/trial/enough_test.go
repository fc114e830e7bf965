package trial

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestALoadEndsWhenItIsEnough, in both engines, open and closed: operations in flight are answered, and
// flows that were due later do not count as unsent.
func TestALoadEndsWhenItIsEnough(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		fine(w, r)
	})
	open := scenario.Load{Rate: "100"}
	closed := scenario.Load{Users: 4}
	for name, c := range map[string]struct {
		load     scenario.Load
		protocol string
		loops    int
	}{
		"open": {open, "", 1}, "closed": {closed, "", 1}, "several loops": {closed, "", 2},
		"open, HTTP/2": {open, HTTP2, 1}, "closed, HTTP/2": {closed, HTTP2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := specFor(t, url)
			s.Load = c.load
			s.Protocol = c.protocol
			s.Loops = c.loops
			s.Connections = 64 // on a busy host, answers that come late keep theirs
			s.Load.Duration = scenario.Duration(time.Hour)
			var enough atomic.Bool
			intervals := 0
			var within int64
			o, err := prepare(t, s).Play(t.Context(), Hooks{Enough: &enough, Interval: 100 * time.Millisecond,
				Second: func(second Second) error {
					if !enough.Load() {
						intervals++
						within += second.Results.Sent(record.All)
					}
					enough.Store(intervals >= 5)
					return nil
				}})
			testset.Must(t, err)
			sum := o.Summary
			if o.Report.Elapsed > 4*time.Second || // with intervals of a second it would take more than five
				intervals != 5 || within == 0 || within >= sum.Sent {
				t.Errorf("it lasted %v; %d of %d operations in %d intervals, want 5 intervals and some operations "+
					"after them", o.Report.Elapsed, within, sum.Sent, intervals)
			}
			if sum.OK != sum.Sent || sum.InFlight != 0 || sum.Unsent != 0 {
				t.Errorf("%d of %d operations ok, %d in flight, %d unsent; want all of them answered, and none missed",
					sum.OK, sum.Sent, sum.InFlight, sum.Unsent)
			}
		})
	}
}
