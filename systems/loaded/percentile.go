package loaded

import "math"

// Percentile returns a percentile, given as a share, of at least one sorted value. It rounds the rank as
// HdrHistogram does, which response times come from, so that both can be compared even with few values in
// the tail.
func Percentile(sorted []float64, share float64) float64 {
	return sorted[max(int(math.Round(share*float64(len(sorted))))-1, 0)]
}
