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
		must(t, err)
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

// TestLatenessThatMovesNoFigureLimitsNobody: of 150 operations of 6 ms two are sent late,
// as a generator does that shares its processors.
func TestLatenessThatMovesNoFigureLimitsNobody(t *testing.T) {
	for late, limited := range map[time.Duration]bool{
		900 * time.Microsecond: false, 2400 * time.Microsecond: false, 20 * time.Millisecond: true,
	} {
		under := prepare(t, specFor(t, "http://127.0.0.1:1/"))
		results, err := record.NewResults(record.Options{Operations: under.Operations()})
		must(t, err)
		for i := range 150 {
			var sent time.Duration
			if i == 40 || i == 110 {
				sent = late
			}
			results.Add(record.Sample{Sent: sent,
				Finished: sent + 6*time.Millisecond + time.Duration(i)*3*time.Microsecond})
		}
		o := Outcome{Results: results, Report: engine.Report{Elapsed: 3 * time.Second}}
		under.sumUp(&o)
		if s := o.Summary; s.Generator.Limited != limited {
			t.Errorf("%v late: limited %v by %q; notes %q", late, s.Generator.Limited, s.Generator.LimitedBy, s.Notes)
		}
	}
}
