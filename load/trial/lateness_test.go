package trial

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestLatenessThatIsPermittedLimitsNobody: operations are sent 50 ms late, of the
// generator's own fault.
func TestLatenessThatIsPermittedLimitsNobody(t *testing.T) {
	for permitted, limited := range map[scenario.Duration]bool{0: true, 40 * ms: true, 100 * ms: false} {
		spec := specFor(t, "http://127.0.0.1:1/")
		spec.Lateness = permitted
		under := prepare(t, spec)
		results, err := record.NewResults(record.Options{Operations: under.Operations()})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			const late = 50 * time.Millisecond
			results.Add(record.Sample{Outcome: record.OK, Sent: late, Finished: late + time.Millisecond})
		}
		o := Outcome{Results: results, Report: engine.Report{Elapsed: time.Second}}
		under.sumUp(&o)
		if o.Summary.Generator.Limited != limited {
			t.Errorf("%d ns permitted: limited %v by %q, want %v", permitted, o.Summary.Generator.Limited,
				o.Summary.Generator.LimitedBy, limited)
		}
	}
}
