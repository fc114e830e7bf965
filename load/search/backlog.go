package search

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Growth is the trend of a backlog.
type Growth struct {
	Slope float64 // operations per second
	Low   float64 // lower end of its 95 % interval
	High  float64 // upper end
	// Grows: more than one percent of the offered rate accumulates permanently.
	Grows bool
}

const (
	// maxGrowth is the share of the offered rate that may accumulate.
	maxGrowth = 0.01
	// walk is the variance of the slope of a line through a random walk of n steps, as a multiple of the
	// variance of a step divided by n (Durlauf and Phillips 1988).
	walk = 1.2
	// unitRoot is the limit that n (1 - r) exceeds for 5 % of random walks around a trend (Dickey and Fuller
	// 1979).
	unitRoot = 21.8
)

// BacklogGrows fits a straight line to a backlog by least squares and reports whether the lower end of
// the slope's 95 % interval exceeds 1 % of the offered rate. A backlog that fluctuates, as that of every
// queue does, has wide intervals. A backlog that only grows means that the target is too slow, regardless
// of the percentiles of the operations that did end. With less than three values nothing grows.
//
// Values of a backlog depend on each other, so they carry less information than independent ones: the
// standard error grows by sqrt((1 + r) / (1 - r)), with r the correlation of neighbouring residuals
// (Bartlett 1935). If a random walk cannot be ruled out, the standard error is that of a random walk with
// the steps of this backlog.
//
//	backlog  operations due or accepted, but not done, at equal distances
//	every    the distance
//	rate     offered, operations per second
func BacklogGrows(backlog []float64, every time.Duration, rate float64) Growth {
	n := float64(len(backlog))
	if n < 3 || every <= 0 {
		return Growth{Low: math.Inf(-1), High: math.Inf(1)}
	}
	at := make([]float64, len(backlog))
	for i := range at {
		at[i] = float64(i) - (n-1)/2
	}
	mean, slope := stat.LinearRegression(at, backlog, nil, false)
	residuals := make([]float64, len(backlog))
	var squares, neighbours, steps float64
	for i, y := range backlog {
		residuals[i] = y - mean - slope*at[i]
		squares += residuals[i] * residuals[i]
		if i > 0 {
			neighbours += residuals[i] * residuals[i-1]
			step := y - backlog[i-1] - slope
			steps += step * step / (n - 1)
		}
	}
	deviation := math.Sqrt(squares / (n - 2) / (n * (n*n - 1) / 12))
	switch r := neighbours / squares; {
	case n*(1-r) < unitRoot:
		deviation = max(deviation, math.Sqrt(walk*steps/n))
	case r > 0: // r is NaN if the line fits exactly
		deviation *= math.Sqrt((1 + r) / (1 - r))
	}
	half := distuv.StudentsT{Sigma: 1, Nu: n - 2}.Quantile(0.975) * deviation
	s := every.Seconds()
	g := Growth{Slope: slope / s, Low: (slope - half) / s, High: (slope + half) / s}
	g.Grows = g.Low > maxGrowth*rate
	return g
}
