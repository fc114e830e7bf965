package trial

import (
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// summaryOf returns the summary of samples, as if a load of a spec had recorded them in three seconds.
func summaryOf(t *testing.T, s Spec, samples []record.Sample) record.Summary {
	t.Helper()
	trial := prepare(t, s)
	results := record.NewResults(record.Options{Operations: trial.Operations()})
	for i := range samples {
		results.Add(&samples[i])
	}
	o := Outcome{Results: results, Report: engine.Report{Elapsed: 3 * time.Second}}
	trial.sumUp(&o)
	return o.Summary
}

// TestPermittedLatenessIsNoLimit: the generator itself sends operations 50 ms late.
func TestPermittedLatenessIsNoLimit(t *testing.T) {
	for permitted, limited := range map[scenario.Duration]bool{0: true, 40 * ms: true, 100 * ms: false} {
		spec := specFor(t, "http://127.0.0.1:1/")
		spec.Lateness = permitted
		const late = 50 * time.Millisecond
		sample := record.Sample{Outcome: record.OK, Sent: late, Finished: late + time.Millisecond}
		g := summaryOf(t, spec, slices.Repeat([]record.Sample{sample}, 10)).Generator
		if g.Limited != limited {
			t.Errorf("%d ns permitted: limited %v by %q, want %v", permitted, g.Limited, g.LimitedBy, limited)
		}
	}
}

// TestLatenessThatMovesNoFigureIsNoLimit: two of 150 operations of 6 ms are sent late, as by a
// generator that shares its processors.
func TestLatenessThatMovesNoFigureIsNoLimit(t *testing.T) {
	for late, limited := range map[time.Duration]bool{
		900 * time.Microsecond: false, 2400 * time.Microsecond: false, 20 * time.Millisecond: true,
	} {
		samples := make([]record.Sample, 150)
		for i := range samples {
			var sent time.Duration
			if i == 40 || i == 110 {
				sent = late
			}
			samples[i] = record.Sample{Sent: sent,
				Finished: sent + 6*time.Millisecond + time.Duration(i)*3*time.Microsecond}
		}
		s := summaryOf(t, specFor(t, "http://127.0.0.1:1/"), samples)
		if s.Generator.Limited != limited {
			t.Errorf("%v late: limited %v by %q; notes %q", late, s.Generator.Limited, s.Generator.LimitedBy, s.Notes)
		}
	}
}
