package loaded

import "testing"

// TestPercentileIsThatOfResponseTimes: the wanted values were computed by an HdrHistogram with five digits of
// the numbers 1 to n (github.com/HdrHistogram/hdrhistogram-go v1.4.0, ValueAtPercentile).
func TestPercentileIsThatOfResponseTimes(t *testing.T) {
	for _, c := range []struct {
		n     int
		share float64
		want  float64
	}{
		{1, 0.5, 1}, {1, 0.99, 1}, {2, 0.5, 1}, {7, 0.5, 4}, {10, 0.5, 5}, {99, 0.99, 98}, {100, 0.99, 99},
		{101, 0.99, 100}, {150, 0.99, 149}, {150, 0.9, 135}, {1000, 0.999, 999}, {1000, 1, 1000},
	} {
		sorted := make([]float64, c.n)
		for i := range sorted {
			sorted[i] = float64(i + 1)
		}
		if got := Percentile(sorted, c.share); got != c.want {
			t.Errorf("share %g of 1 to %d: %g, want %g", c.share, c.n, got, c.want)
		}
	}
}
