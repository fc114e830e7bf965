package loaded

import "math"

// Percentile returns the value that a share of the values, sorted and at least one, does not exceed. It
// rounds the rank as HdrHistogram does, which response times come from: so both can be compared, also where
// the tail has few values.
func Percentile(sorted []float64, share float64) float64 {
	return sorted[max(int(math.Round(share*float64(len(sorted))))-1, 0)]
}
