package predict

import (
	"math"
	"testing"
	"time"
)

// held returns the highest rate at which the median time stays below a limit, in milliseconds, and the error
// of the self-check of that answer, which is about 10 %.
func held(t *testing.T, limit float64) (rate Held, off float64) {
	t.Helper()
	q := splitStock()
	q.Model.Measured[0].Time = of(3500 * time.Microsecond)
	q.Objective = Objective{Text: "a test", Limits: []Limit{{Share: 0.5, Seconds: limit / 1000}}}
	a := predicted(t, q)
	if len(a.Withheld) > 0 {
		t.Fatalf("withheld: %q", a.Withheld)
	}
	off, _, _ = worst(a.Checks)
	if off < 0.05 {
		t.Fatalf("the self-check is off by %g: too little to widen an interval", off)
	}
	return a.Changed.Held, off
}

// TestTheIntervalOfAHeldRate: if the predicted times are too short by the error of the self-check, the rate
// that holds is that of an objective tighter by as much, and it is in the interval. The same is true of times
// that are too long, and a looser objective.
func TestTheIntervalOfAHeldRate(t *testing.T) {
	const limit = 4.5
	is, off := held(t, limit)
	tighter, _ := held(t, limit/(1+off))
	looser, _ := held(t, limit*(1+off))
	if !(tighter.Value < 0.95*is.Value && looser.Value > 1.05*is.Value) {
		t.Fatalf("%g/s hold a tighter objective, %g/s this one, %g/s a looser one", tighter.Value, is.Value,
			looser.Value)
	}
	if !(is.Low <= tighter.Value && is.High >= looser.Value) {
		t.Errorf("the interval [%g, %g] of %g/s does not hold %g/s and %g/s", is.Low, is.High, is.Value,
			tighter.Value, looser.Value)
	}
	if is.Beyond || math.IsNaN(is.Low) {
		t.Errorf("%+v is no rate between two others", is)
	}
}

// TestRatesBeyondTheSearch: an objective that holds at every rate that is tried has the highest of these, and
// one that holds at none has no rate. By the measured response time the database takes 1.7 ms, and not 2 ms.
func TestRatesBeyondTheSearch(t *testing.T) {
	if easy, _ := held(t, 1000); !easy.Beyond || math.Abs(easy.Value/470-1) > 0.05 {
		t.Errorf("%+v, want over 470/s, at which the database is used to 80 %%", easy)
	}
	if never, _ := held(t, 0.1); never.Withheld == "" || never.Value != 0 {
		t.Errorf("%+v, want the reason why there is no rate", never)
	}
}
