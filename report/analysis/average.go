package analysis

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// mostI2 is the heterogeneity up to which one ratio may stand for all points.
const mostI2 = 0.5

// averages says for every pair that met at two points or more what its average
// ratio would be, and whether there may be one.
func (e *experiment) averages() []lab.Average {
	all := []lab.Average{}
	for _, metric := range e.averagedMetrics() {
		for _, p := range e.pairs() {
			if average, ok := e.average(metric, p, e.pointsOf(p.variant, p.against)); ok {
				all = append(all, average)
			}
		}
	}
	return all
}

// averagedMetrics are the totals, and what claims compare.
func (e *experiment) averagedMetrics() []string {
	metrics := []string{e.named(lab.Elapsed, 0, ""), e.named(lab.CPU, 0, "")}
	if len(e.study.Metrics) > 0 {
		metrics = []string{e.headline()}
	}
	for _, c := range e.study.Claims {
		if _, known := e.metric(c.Metric); known && c.Against != "" && !slices.Contains(metrics, c.Metric) {
			metrics = append(metrics, c.Metric)
		}
	}
	return metrics
}

// average of the ratios of a pair over points; false below two points.
func (e *experiment) average(metric string, p pair, points []string) (lab.Average, bool) {
	return e.averageOf(metric, metric, p, points)
}

// averageOf is average where the one below has a metric of its own.
func (e *experiment) averageOf(metric, below string, p pair, points []string) (lab.Average, bool) {
	out := lab.Average{Metric: metric, Variant: p.variant, Baseline: p.against}
	var up, down []float64
	var logRatios [][]float64
	blocks := 0
	for _, point := range points {
		c := e.contrastOf(metric, below, point, p)
		d, err := stats.LogRatios(c.up, c.down)
		if err != nil || c.n() == 0 {
			continue
		}
		out.Points = append(out.Points, point)
		up, down = append(up, stats.Mean(c.up)), append(down, stats.Mean(c.down))
		logRatios = append(logRatios, d)
		if blocks == 0 || c.n() < blocks {
			blocks = c.n()
		}
	}
	means, err := stats.AverageRatios(up, down)
	if err != nil || len(out.Points) < 2 {
		return lab.Average{}, false
	}
	out.Arithmetic, out.Geometric, out.Harmonic, out.OfSums = means.Arithmetic, means.Geometric, means.Harmonic,
		means.OfSums
	e.addHeterogeneity(&out, logRatios, blocks)
	return out, true
}

// addHeterogeneity says whether the points share one ratio. The variance within
// points is pooled; one block per point gives none, and nothing is said.
func (e *experiment) addHeterogeneity(out *lab.Average, logRatios [][]float64, blocks int) {
	effects, degrees, err := stats.PooledEffects(logRatios)
	if err != nil {
		return
	}
	combined, err := stats.Combine(effects, degrees, e.sure(e.design.Confidence, blocks))
	if err != nil {
		return
	}
	out.Q, out.P, out.I2 = number(combined.Q), number(combined.P), number(combined.I2)
	out.Homogeneous = combined.I2 <= mostI2
	mean := lab.Ratio{Ratio: combined.Mean.Value, N: blocks}
	mean.Low, mean.High = bounds(combined.Mean.Low, combined.Mean.High)
	out.Mean = &mean
	if combined.Prediction != nil {
		out.PredictionLow, out.PredictionHigh = bounds(combined.Prediction.Low, combined.Prediction.High)
	}
}
