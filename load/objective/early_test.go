package objective

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// resultsOf returns results of operations that took 10 ms each to answer, sent 5 ms late.
func resultsOf(t *testing.T, ok, failed, unsent int) *record.Results {
	t.Helper()
	r := record.NewResults(record.Options{Operations: []string{"a"}})
	const ms = time.Millisecond
	for i := range ok + failed {
		outcome := record.OK
		if i >= ok {
			outcome = record.Reset
		}
		r.Add(&record.Sample{Outcome: outcome, Intended: 0, Sent: 5 * ms, Finished: 15 * ms})
	}
	r.Unsent(0, int64(unsent))
	return r
}

func TestLost(t *testing.T) {
	cases := []struct {
		objective          string
		ok, failed, unsent int
		planned            int64
		want               string // empty: not lost
	}{
		{"p50<12ms", 51, 0, 0, 100, ""}, // one more than the share, because ranks are rounded
		{"p50<12ms", 52, 0, 0, 100, "52 operations miss p50<12ms, of at most 100"},
		{"p50<12ms", 52, 0, 0, 0, ""},
		{"service.p50<12ms", 99, 0, 0, 100, ""},
		{"service.p90<=9ms", 99, 0, 0, 100, "service.p90<=9ms"},
		{"max<12ms", 1, 0, 0, 0, ""},
		{"max<12ms", 2, 0, 0, 0, "2 operations miss max<12ms"},
		{"mean<1ms", 99, 0, 0, 100, ""},
		{"p50>1s,rate>5/s,achieved>=99%", 99, 0, 0, 100, ""},
		{"errors<1%", 0, 2, 0, 100, ""},
		{"errors<1%", 0, 3, 0, 100, "3 operations miss errors<1%"},
		{"late<=3", 3, 0, 0, 0, ""},
		{"late<=3", 4, 0, 0, 0, "4 are late, objective late<=3"},
		{"late<10%", 12, 0, 0, 100, "late<10%"},
		{"unsent<=0", 0, 0, 1, 100, "1 are unsent"},
		{"unsent<1%", 0, 0, 2, 100, ""},
	}
	for _, c := range cases {
		t.Run(c.objective, func(t *testing.T) {
			o := MustParse(c.objective)
			got := strings.Join(o.Lost(resultsOf(t, c.ok, c.failed, c.unsent), c.planned), "; ")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("lost: %q, want %q", got, c.want)
			}
		})
	}
}

func TestBreachedJudgesWhatAPartCanSay(t *testing.T) {
	o := MustParse("p50<12ms,p99.9<12ms,errors<1%,unsent<=0,rate>1000/s,achieved>99%")
	summary := resultsOf(t, 5, 5, 9).Summarize(time.Second, nil)
	if got := o.Breached(&summary); len(got) != 2 || !strings.HasPrefix(got[0], "p50 is 15") ||
		!strings.HasPrefix(got[1], "errors is 50%") {
		t.Errorf("breached: %q, want p50 and errors", got)
	}
	empty := resultsOf(t, 0, 0, 0).Summarize(time.Second, nil)
	if got := o.Breached(&empty); len(got) != 0 {
		t.Errorf("a second without operations breaches %q", got)
	}
}
