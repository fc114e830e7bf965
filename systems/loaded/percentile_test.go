package loaded

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestPercentileIsThatOfResponseTimes: values that a histogram keeps exactly have the same percentiles there.
func TestPercentileIsThatOfResponseTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 99, 100, 101, 1000} {
		histogram, values := hdrhistogram.New(1, 1_000_000, 5), make([]float64, n)
		for i := range values {
			value := 1 + random.Int64N(100_000)
			values[i] = float64(value)
			if err := histogram.RecordValue(value); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(values)
		for _, share := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			got, want := Percentile(values, share), float64(histogram.ValueAtPercentile(100*share))
			if got != want {
				t.Errorf("share %g of %d values: %g, the histogram says %g", share, n, got, want)
			}
		}
	}
}
