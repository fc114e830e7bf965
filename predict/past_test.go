package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// missed returns a past with a prediction for each distance of a figure beyond its interval (see Beyond).
func missed(system, figure string, beyond ...float64) (all Past) {
	for _, by := range beyond {
		all = append(all, PastPrediction{System: system, Beyond: map[string]float64{figure: by}})
	}
	return all
}

// TestIntervalsAreWidenedByThePast checks the factor: the ninth of nine misses, the tenth of ten, the
// eighteenth of nineteen, and 1 if all intervals held what was measured or the figure has no past.
func TestIntervalsAreWidenedByThePast(t *testing.T) {
	nine := []float64{-1, -0.9, -0.5, -0.2, 0, 0.01, 0.02, 0.05, 0.3}
	for name, c := range map[string]struct {
		past   Past
		figure string
		want   float64
	}{
		"nine": {missed("shop", FigureCPU, nine...), FigureCPU, math.Exp(0.3)},
		"ten":  {missed("shop", FigureCPU, append(nine, 0.1)...), FigureCPU, math.Exp(0.3)},
		"nineteen": {missed("shop", FigureCPU, append(nine, make([]float64, 10)...)...), FigureCPU,
			math.Exp(0.05)},
		"few":          {missed("shop", FigureCPU, 0.1, 0.2), FigureCPU, math.Exp(0.2)},
		"all held":     {missed("shop", FigureCPU, -0.1, -0.2), FigureCPU, 1},
		"other figure": {missed("shop", FigureCPU, nine...), FigureP99, 1},
		"nothing":      {nil, FigureCPU, 1},
		"another system": {append(missed("shop", FigureCPU, 2), missed("people", FigureCPU, 1)...).Without("shop"),
			FigureCPU, math.E},
	} {
		e := c.past.Widened(c.figure, stats.Estimate{Value: 2, Low: 1, High: 4})
		if math.Abs(e.Low*c.want-1) > 1e-12 || math.Abs(e.High/c.want-4) > 1e-12 || e.Value != 2 {
			t.Errorf("%s: %+v, want both ends moved by %g", name, e, c.want)
		}
	}
}

// TestWidenedIntervalsHoldAsOftenAsTheySay checks the coverage: of predictions that miss as the past ones
// did, nine in ten lie within their intervals, however narrow these are without a past.
func TestWidenedIntervalsHoldAsOftenAsTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	draw := func() (e stats.Estimate, truth float64) {
		return stats.Estimate{Value: 1, Low: 0.99, High: 1.01}, math.Exp(0.1 * random.NormFloat64())
	}
	const trials, before = 4000, 39
	held := 0
	for range trials {
		var past Past
		for range before {
			past = append(past, missed("shop", FigureCPU, Beyond(draw()))...)
		}
		if e, truth := draw(); past.Widened(FigureCPU, e).Contains(truth) {
			held++
		}
	}
	if share := float64(held) / trials; math.Abs(share-0.9) > 0.02 { // four standard errors
		t.Errorf("%.3f of the intervals hold the truth, want 0.9", share)
	}
}

// TestThePastWidensWhatAChangeBrings checks that the intervals of the changed system and of the ratios are
// wider with a past, but not those of the system as it is, and that the limits of the answer say so.
func TestThePastWidensWhatAChangeBrings(t *testing.T) {
	q := splitStock()
	without := predicted(t, q)
	q.Past = missed("shop", FigureCPU, math.Log(2))
	with := predicted(t, q)
	for name, pair := range map[string][2]stats.Estimate{"CPU time": {without.Changed.CPU, with.Changed.CPU},
		"cores": {without.Changed.Cores, with.Changed.Cores}, "ratio": {without.CPU, with.CPU}} {
		if math.Abs(pair[1].High/pair[0].High-2) > 1e-9 || math.Abs(pair[0].Low/pair[1].Low-2) > 1e-9 {
			t.Errorf("%s is %+v with a past and %+v without, want twice", name, pair[1], pair[0])
		}
	}
	if with.AsIs.CPU != without.AsIs.CPU || with.Changed.Median != without.Changed.Median {
		t.Errorf("%+v and %+v, want what the past says nothing of as it is without", with, without)
	}
	if len(with.Limits) != len(without.Limits)+1 || !slices.Contains(with.Limits, q.Past.text()) {
		t.Errorf("%q do not say that the past widens intervals", with.Limits)
	}
}

// TestTheKnownPastIsRead checks that it has figures of three systems, with names that answers know.
func TestTheKnownPastIsRead(t *testing.T) {
	past, err := KnownPast()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"shop", "people", "social"} {
		if len(past.Without(system)) == len(past) {
			t.Errorf("nothing is known of %s", system)
		}
	}
	names := []string{FigureMedian, FigureP99, FigureCPU, FigureCapacity}
	for _, m := range past {
		for figure, by := range m.Beyond {
			if !slices.Contains(names, figure) || math.IsInf(by, 0) {
				t.Errorf("%s of %s: %q is beyond by %g", m.Change, m.System, figure, by)
			}
		}
	}
}
