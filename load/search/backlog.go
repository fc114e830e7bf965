package search

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Growth is the trend of a backlog.
type Growth struct {
	Slope float64 // operations per second
	Low   float64 // lower end of its 95 % interval
	High  float64 // upper end
	N     int     // values of the backlog
	// Grows: more than one percent of the offered rate piles up for good.
	Grows bool
}

// maxGrowth is the share of the offered rate that may pile up.
const maxGrowth = 0.01

// BacklogGrows fits a straight line to a backlog by least squares and reports
// whether the lower end of the slope's 95 % interval exceeds 1 % of the offered
// rate. A backlog that wanders, as every queue's does, has wide intervals; one
// that only grows is a target that is not keeping up, whatever the percentiles
// of the operations that did end. Below three values nothing grows.
//
//	backlog  operations due or accepted, but not done, at equal distances
//	every    the distance
//	rate     offered, operations per second
func BacklogGrows(backlog []float64, every time.Duration, rate float64) Growth {
	n := len(backlog)
	if n < 3 || every <= 0 {
		return Growth{N: n, Low: math.Inf(-1), High: math.Inf(1)}
	}
	middle, mean := float64(n-1)/2, 0.0
	for _, y := range backlog {
		mean += y / float64(n)
	}
	var xx, xy float64
	for i, y := range backlog {
		x := float64(i) - middle
		xx += x * x
		xy += x * (y - mean)
	}
	slope := xy / xx
	var rest float64
	for i, y := range backlog {
		r := y - mean - slope*(float64(i)-middle)
		rest += r * r
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 2)}.Quantile(0.975)
	half := t * math.Sqrt(rest/float64(n-2)/xx)
	s := every.Seconds()
	g := Growth{Slope: slope / s, Low: (slope - half) / s, High: (slope + half) / s, N: n}
	g.Grows = g.Low > maxGrowth*rate
	return g
}
