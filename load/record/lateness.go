package record

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// maxMoved is the share of a figure by which late sendings may have moved it.
	maxMoved = 0.05
	// maxMovedByFew is the share of the median by which they may have moved a percentile
	// further that stands on so few operations that it could lie there by chance.
	maxMovedByFew = 0.5
	// chance is the 97.5th percentile of the normal distribution, for intervals of 95 %.
	chance = 1.96
)

// MovedByLateness says which figure of the response times may be wrong because the
// generator sent late of its own fault, and by how much; it is empty where none is off by
// more than 5 %. A percentile may be off further, by up to half of the median, where its
// own 95 % interval in this load reaches as far.
//
// Response times run from the intended start, so each is too long by at most the
// lateness of its operation. Of n operations let k be later than e. Without lateness a
// percentile would be at least the response time k ranks below it, less e, whichever
// operations were late. The bound is the smallest for any e.
func (r *Results) MovedByLateness() string {
	response, lateness := r.Times(Response, All), r.Times(Lateness, All)
	n := response.TotalCount()
	if n == 0 {
		return ""
	}
	if by, limit := lateness.Mean(), maxMoved*response.Mean(); by > limit {
		return moved("the mean", by, limit)
	}
	steps := lateness.CumulativeDistribution()
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
		at := float64(response.ValueAtQuantile(100 * q))
		by := float64(lateness.Max())
		for _, e := range steps {
			by = min(by, at-valueAtRank(response, q*float64(n)-float64(n-e.Count))+float64(e.ValueAt))
		}
		byChance := at - valueAtRank(response, q*float64(n)-chance*math.Sqrt(float64(n)*q*(1-q)))
		median := float64(response.ValueAtQuantile(50))
		limit := maxMoved*at + min(byChance, maxMovedByFew*median)
		if by > limit {
			return moved(fmt.Sprintf("the %gth percentile", 100*q), by, limit)
		}
	}
	return ""
}

// moved says how far a figure may be off. Times are in nanoseconds.
func moved(figure string, by, limit float64) string {
	return fmt.Sprintf("%s of the response times may be off by %.3g ms, more than the %.3g ms that do no harm",
		figure, by/1e6, limit/1e6)
}

// valueAtRank returns the value at a rank from 1 on, rounded down.
func valueAtRank(h *hdrhistogram.Histogram, rank float64) float64 {
	if rank < 1 {
		return 0
	}
	// In the middle between two ranks, so that rounding cannot miss it.
	return float64(h.ValueAtQuantile(100 * (math.Floor(rank) - 0.5) / float64(h.TotalCount())))
}
