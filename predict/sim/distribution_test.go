package sim

import (
	"math"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// TestDistributions: what is drawn has the mean, and the quantiles, of the distribution.
func TestDistributions(t *testing.T) {
	curve, err := Quantiles([]Quantile{{0, 0.001}, {0.5, 0.002}, {0.9, 0.004}, {0.99, 0.02}})
	if err != nil {
		t.Fatal(err)
	}
	point, err := Quantiles([]Quantile{{0.5, 0.003}})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Dist{"constant": Constant(0.01), "exponential": Exponential(0.01),
		"hyperexponential": Hyperexponential(0.9, 0.005, 0.055), "curve": curve, "scaled": curve.Scaled(3),
		"one quantile": point} {
		random := newRandom(5, 0)
		batches := make([]float64, 25)
		for i := range batches {
			for range 20_000 {
				batches[i] += d.draw(&random) / 20_000
			}
		}
		if name == "constant" || name == "one quantile" {
			if math.Abs(batches[0]/d.Mean()-1) > 1e-9 {
				t.Errorf("%s: %g, want %g", name, batches[0], d.Mean())
			}
			continue
		}
		holds(t, name, d.Mean(), batches, 0.02)
	}
	random := newRandom(5, 0)
	below := make([]float64, 25)
	for i := range below {
		for range 10_000 {
			if curve.draw(&random) <= 0.004 {
				below[i] += 1.0 / 10_000
			}
		}
	}
	holds(t, "share up to the 90th percentile", 0.9, below, 0.01)
	if got := curve.Scaled(3).Mean() / curve.Mean(); math.Abs(got-3) > 1e-9 {
		t.Errorf("scaled by 3 the mean is %g of what it was", got)
	}
}

func TestQuantilesAreChecked(t *testing.T) {
	for name, points := range map[string][]Quantile{"none": nil, "no probability": {{1.5, 1}},
		"negative": {{0.5, -1}}, "not a number": {{math.NaN(), 1}}, "not ascending": {{0.5, 2}, {0.9, 1}},
		"twice": {{0.5, 1}, {0.5, 2}}} {
		if _, err := Quantiles(points); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestHistogram: a quantile is within 0.8 % of that of the values (random values are themselves off by up to
// 3 %). take moves what another histogram has counted, which is empty then.
func TestHistogram(t *testing.T) {
	random := newRandom(9, 0)
	var h, all Histogram
	if !math.IsNaN(h.Quantile(0.5)) {
		t.Error("nothing has a median")
	}
	for range 2 {
		for range 50_000 {
			h.add(0.003 * random.exponential())
		}
		all.take(&h)
		h.take(&Histogram{})
	}
	for _, p := range []float64{0.01, 0.5, 0.9, 0.99} {
		if got := all.Quantile(p) / (-0.003 * math.Log(1-p)); math.Abs(got-1) > 0.03 {
			t.Errorf("quantile %g is %g of the truth", p, got)
		}
	}
	if all.Count != 100_000 || h.Count != 0 {
		t.Errorf("%d and %d values, want 100,000 and none", all.Count, h.Count)
	}
	for _, extreme := range []float64{0, 1e-12, 1e9} {
		h = Histogram{}
		h.add(extreme)
		if got := h.Quantile(0.5); got != extreme {
			t.Errorf("the median of %g alone is %g", extreme, got)
		}
	}
	values := stats.Median([]float64{1, 2, 3})
	h = Histogram{}
	for _, v := range []float64{1, 2, 3} {
		h.add(v)
	}
	if got := h.Quantile(0.5); math.Abs(got/values-1) > 0.008 {
		t.Errorf("the median of 1, 2 and 3 is %g", got)
	}
}
