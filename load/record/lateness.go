package record

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// maxMoved is the share of a figure by which late sends may change it.
	maxMoved = 0.05
	// maxMovedByFew is the share of the median by which late sends may change a percentile of so few
	// operations that chance could move it as far.
	maxMovedByFew = 0.5
	// chance is the 97.5th percentile of the normal distribution, for intervals of 95 %.
	chance = 1.96
)

// Moved is a figure of the response times that may be wrong because the generator itself sent late.
type Moved struct {
	Quantile float64 `json:"quantile"` // 0: the mean; 1: the maximum
	By       float64 `json:"by"`       // largest possible error, in seconds
	Limit    float64 `json:"limit"`    // largest acceptable error, in seconds
}

// String describes the possible error.
func (m Moved) String() string {
	figure := fmt.Sprintf("the %gth percentile", 100*m.Quantile)
	if m.Quantile == 0 {
		figure = "the mean"
	}
	return fmt.Sprintf("%s of the response times may be off by %.3g ms, more than the %.3g ms that do no harm",
		figure, 1e3*m.By, 1e3*m.Limit)
}

// MovedByLateness returns the figures of the response times that may be wrong by more than 5 % because
// the generator itself sent late. A percentile may be wrong by more, up to half of the median, if its own
// 95 % interval in this load is as wide. It returns nil unless the mean or the 50th, 90th, 95th or 99th
// percentile is among them: the others depend on so few operations that one late send moves them.
//
// Response times run from the intended start, so each is too long by at most the lateness
// of its operation. Let k of n operations be later than e. Without lateness a percentile
// would be at least the response time k ranks below it, less e, whichever operations were
// late. The bound is the smallest one over all e.
func (r *Results) MovedByLateness() []Moved {
	response := r.Times(Response, All)
	lateness := r.Times(Lateness, All)
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
		rank := q * float64(n)
		by := float64(lateness.Max())
		for _, e := range steps {
			later := float64(n - e.Count)
			by = min(by, at-valueAtRank(response, rank-later)+float64(e.ValueAt))
		}
		spread := chance * math.Sqrt(rank*(1-q))
		byChance := at - valueAtRank(response, rank-spread)
		add(q, by, maxMoved*at+min(byChance, maxMovedByFew*median))
	}
	if len(all) > 0 && all[0].Quantile > 0.99 {
		return nil
	}
	return all
}

// valueAtRank returns the value at a rank, which is from 1 on and rounded down.
func valueAtRank(h *hdrhistogram.Histogram, rank float64) float64 {
	if rank < 1 {
		return 0
	}
	middle := math.Floor(rank) - 0.5 // between two ranks, so that rounding cannot select another one
	value := h.ValueAtQuantile(100 * middle / float64(h.TotalCount()))
	return float64(value)
}
