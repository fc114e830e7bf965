package record

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// maxMoved is the share of a figure by which late sends may have moved it.
	maxMoved = 0.05
	// maxMovedByFew is the share of the median by which late sends may have moved a
	// percentile further if it stands on so few operations that it could lie there by chance.
	maxMovedByFew = 0.5
	// chance is the 97.5th percentile of the normal distribution, for intervals of 95 %.
	chance = 1.96
)

// Moved is a figure of the response times that may be wrong because the generator sent late of its own fault.
type Moved struct {
	Quantile float64 `json:"quantile"` // 0: the mean; 1: the longest
	By       float64 `json:"by"`       // how far it may be off, in seconds
	Limit    float64 `json:"limit"`    // how far it may be off and still be good enough, in seconds
}

// String says how far the figure may be off.
func (m Moved) String() string {
	figure := fmt.Sprintf("the %gth percentile", 100*m.Quantile)
	if m.Quantile == 0 {
		figure = "the mean"
	}
	return fmt.Sprintf("%s of the response times may be off by %.3g ms, more than the %.3g ms that do no harm",
		figure, 1e3*m.By, 1e3*m.Limit)
}

// MovedByLateness returns the figures of the response times that may be off by more than 5 % because the
// generator itself sent late. A percentile may be off further, by up to half of the median, if its own 95 %
// interval in this load reaches as far. It returns nothing unless the mean or the 50th, 90th, 95th or 99th
// percentile is among them: the others stand on so few operations that one late send moves them.
//
// Response times run from the intended start, so each is too long by at most the lateness
// of its operation. Let k of n operations be later than e. Without lateness a percentile
// would be at least the response time k ranks below it, less e, whichever operations were
// late. The bound is the smallest one over all e.
func (r *Results) MovedByLateness() []Moved {
	response, lateness := r.Times(Response, All), r.Times(Lateness, All)
	n := response.TotalCount()
	if n == 0 {
		return nil
	}
	var all []Moved
	add := func(quantile, by, limit float64) {
		if by > limit {
			all = append(all, Moved{quantile, by / 1e9, limit / 1e9})
		}
	}
	add(0, lateness.Mean(), maxMoved*response.Mean())
	steps := lateness.CumulativeDistribution()
	median := float64(response.ValueAtQuantile(50))
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 1} {
		at := float64(response.ValueAtQuantile(100 * q))
		by := float64(lateness.Max())
		for _, e := range steps {
			by = min(by, at-valueAtRank(response, q*float64(n)-float64(n-e.Count))+float64(e.ValueAt))
		}
		byChance := at - valueAtRank(response, q*float64(n)-chance*math.Sqrt(float64(n)*q*(1-q)))
		add(q, by, maxMoved*at+min(byChance, maxMovedByFew*median))
	}
	if len(all) > 0 && all[0].Quantile > 0.99 {
		return nil
	}
	return all
}

// valueAtRank returns the value at a rank from 1 on, rounded down.
func valueAtRank(h *hdrhistogram.Histogram, rank float64) float64 {
	if rank < 1 {
		return 0
	}
	// In the middle between two ranks, so that rounding cannot miss it.
	return float64(h.ValueAtQuantile(100 * (math.Floor(rank) - 0.5) / float64(h.TotalCount())))
}
