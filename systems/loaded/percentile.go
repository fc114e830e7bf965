package loaded

import "math"

// Percentile returns a percentile, given as a share, of at least one sorted value. It rounds the rank as
// HdrHistogram does, which response times come from, so that both can be compared even with few values in
// the tail.
func Percentile(sorted []float64, share float64) float64 {
	rank := int(math.Round(share * float64(len(sorted))))
	return sorted[max(rank-1, 0)]
}
