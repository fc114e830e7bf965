package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileInterval returns a quantile (0 < q < 1) with the interval between two
// order statistics that covers it with at least the confidence, whatever the
// distribution (David and Nagaraja, Order Statistics, section 7.1). Of all such
// pairs of ranks it takes the closest, and of those the one of highest
// coverage. The estimate interpolates linearly between order statistics
// (Hyndman and Fan 1996, type 7). Too few values for any interval are refused
// with the number needed: 6 for a 95 % interval of the median.
func QuantileInterval(values []float64, q, confidence float64) (Estimate, error) {
	name := fmt.Sprintf("%g %% interval of the %g quantile", confidence*100, q)
	if err := checkFinite(name, values); err != nil {
		return Estimate{}, err
	}
	if need := QuantileNeeds(q, confidence); len(values) < need {
		return Estimate{}, &TooFewError{name, len(values), need}
	}
	sorted := slices.Sorted(slices.Values(values))
	low, high := quantileRanks(len(sorted), q, confidence)
	return Estimate{interpolate(sorted, q), sorted[low-1], sorted[high-1], len(sorted), confidence}, nil
}

// QuantileNeeds returns the smallest sample whose extremes enclose the quantile
// with the confidence: 1 - q^n - (1-q)^n >= confidence.
func QuantileNeeds(q, confidence float64) int {
	for n := 1; ; n++ {
		if 1-math.Pow(q, float64(n))-math.Pow(1-q, float64(n)) >= confidence {
			return n
		}
	}
}

// quantileRanks picks the ranks (from 1) of the two order statistics. The
// number of values below the quantile is binomial; the interval from rank low
// to rank high covers when that number is low..high-1.
func quantileRanks(n int, q, confidence float64) (low, high int) {
	below := distuv.Binomial{N: float64(n), P: q}
	cumulative := make([]float64, n+1)
	for k := range cumulative {
		cumulative[k] = below.CDF(float64(k))
	}
	low, high = 1, n
	best := cumulative[n-1] - cumulative[0]
	for first, last := 1, 2; first < n; first++ {
		last = max(last, first+1)
		for last < n && cumulative[last-1]-cumulative[first-1] < confidence {
			last++
		}
		covered := cumulative[last-1] - cumulative[first-1]
		if covered < confidence {
			break
		}
		if last-first < high-low || (last-first == high-low && covered > best) {
			low, high, best = first, last, covered
		}
	}
	return low, high
}

// interpolate is the type 7 quantile of sorted values.
func interpolate(sorted []float64, q float64) float64 {
	position := q * float64(len(sorted)-1)
	below := int(math.Floor(position))
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (position-float64(below))*(sorted[below+1]-sorted[below])
}
