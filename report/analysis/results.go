package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// results returns the results of all variants but twins, at all points, in all metrics.
func (e *experiment) results() []lab.Result {
	all := []lab.Result{}
	for _, metric := range e.study.AllMetrics() {
		for _, v := range e.study.Variants {
			if v.TwinOf != "" {
				continue
			}
			for _, point := range e.study.Points {
				if s := e.series[seriesKey{v.Name, point.Name, metric.Name}]; len(s.values) > 0 {
					all = append(all, e.result(metric, v.Name, point, s))
				}
			}
		}
	}
	return all
}

// result returns the mean of a series with its interval and values.
func (e *experiment) result(metric lab.Metric, variant string, point lab.Point, s series) lab.Result {
	r := lab.Result{
		Variant: variant, Point: point, Metric: metric.Name, Unit: metric.Unit, N: len(s.values),
		Mean: stats.Mean(s.values), Values: slices.Clone(s.values), Blocks: slices.Clone(s.blocks),
	}
	r.Low, r.High = e.meanInterval(s.values)
	if r.Mean > 0 {
		for _, value := range r.Values {
			r.ToMean = append(r.ToMean, significant(value/r.Mean))
		}
	}
	return r
}

// meanInterval returns the t interval of a mean, nil for fewer than two values.
func (e *experiment) meanInterval(values []float64) (low, high *float64) {
	return meanBounds(values, e.confidence(e.design.Confidence, len(values)))
}

// meanBounds returns the t interval of a mean at a confidence level, nil for fewer than two values.
func meanBounds(values []float64, confidence float64) (low, high *float64) {
	interval, err := stats.MeanInterval(values, confidence)
	if err != nil {
		return nil, nil
	}
	return bounds(interval.Low, interval.High)
}

// mean returns the mean of a series, or false if nothing was measured.
func (e *experiment) mean(variant, point, metric string) (float64, bool) {
	s := e.series[seriesKey{variant, point, metric}]
	return stats.Mean(s.values), len(s.values) > 0
}

// ladder returns the variants by the CPU time of an operation, the most expensive first, at the point where
// most variants ran.
func (e *experiment) ladder() []lab.Rung {
	rungs := []lab.Rung{}
	point := e.fullestPoint()
	cpuEach := e.metricName(lab.CPU, 0, lab.PerOperation)
	elapsedEach := e.metricName(lab.Elapsed, 0, lab.PerOperation)
	for _, v := range e.variants() {
		cpu, measured := e.mean(v.Name, point, cpuEach)
		elapsed, ran := e.mean(v.Name, point, elapsedEach)
		if !measured || !ran {
			continue
		}
		rungs = append(rungs, lab.Rung{Variant: v.Name, Point: point, Summary: v.Summary, CPU: cpu,
			Elapsed: elapsed})
	}
	slices.SortStableFunc(rungs, func(a, b lab.Rung) int { return cmp.Compare(b.CPU, a.CPU) })
	for i := range rungs {
		rungs[i].ToBaseline = e.rungRatio(point, rungs[i].Variant, e.study.Baseline)
		if i+1 < len(rungs) {
			rungs[i].ToNext = e.rungRatio(point, rungs[i].Variant, rungs[i+1].Variant)
		}
	}
	return rungs
}

// rungRatio returns the ratio of the CPU time per operation of two variants. It is nil if they are the same,
// if against was struck out, or if the ratio is unknown.
func (e *experiment) rungRatio(point, variant, against string) *lab.Ratio {
	if variant == against || !e.comparable(against) {
		return nil
	}
	c := e.contrast(e.metricName(lab.CPU, 0, lab.PerOperation), point, pair{variant, against})
	if !c.known() {
		return nil
	}
	return new(c.estimate())
}

// fullestPoint returns the first point at which most variants ran.
func (e *experiment) fullestPoint() string {
	best, most := "", 0
	for _, point := range e.study.Points {
		count := 0
		for _, v := range e.variants() {
			if e.ran(v.Name, point.Name) {
				count++
			}
		}
		if count > most {
			best, most = point.Name, count
		}
	}
	return best
}

// mostI2 is the largest heterogeneity (I2) at which one ratio may stand for all points.
const mostI2 = 0.5

// averages returns, for every pair with two points in common, the averages of its ratios over the points, and
// whether one ratio may stand for all.
func (e *experiment) averages() []lab.Average {
	all := []lab.Average{}
	for _, metric := range e.averagedMetrics() {
		for _, p := range e.pairs() {
			if average, ok := e.average(metric, metric, p, e.pointsOf(p.variant, p.against)); ok {
				all = append(all, average)
			}
		}
	}
	return all
}

// averagedMetrics returns the headline metric, or the totals of a job, and the metrics that claims compare.
func (e *experiment) averagedMetrics() []string {
	metrics := []string{e.metricName(lab.Elapsed, 0, ""), e.metricName(lab.CPU, 0, "")}
	if len(e.study.Metrics) > 0 {
		metrics = []string{e.headlineMetric()}
	}
	for _, c := range e.study.Claims {
		if _, known := e.metric(c.Metric); known && c.Against != "" {
			metrics = appendNew(metrics, c.Metric)
		}
	}
	return metrics
}

// average averages the ratios of a pair over points: a metric of p.variant / the metric below of p.against,
// which is often the same metric. It returns false for fewer than two points.
func (e *experiment) average(metric, below string, p pair, points []string) (lab.Average, bool) {
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
		up = append(up, stats.Mean(c.up))
		down = append(down, stats.Mean(c.down))
		logRatios = append(logRatios, d)
		if blocks == 0 || c.n() < blocks {
			blocks = c.n()
		}
	}
	means, err := stats.AverageRatios(up, down)
	if err != nil || len(out.Points) < 2 {
		return lab.Average{}, false
	}
	out.Arithmetic = means.Arithmetic
	out.Geometric = means.Geometric
	out.Harmonic = means.Harmonic
	out.OfSums = means.OfSums
	e.addHeterogeneity(&out, logRatios, blocks)
	return out, true
}

// addHeterogeneity adds the test whether the points share one ratio. The variance within points is pooled;
// with one block per point there is none, and no test. blocks is the smallest number of blocks of a point.
func (e *experiment) addHeterogeneity(out *lab.Average, logRatios [][]float64, blocks int) {
	effects, degrees, err := stats.PooledEffects(logRatios)
	if err != nil {
		return
	}
	combined, err := stats.Combine(effects, degrees, e.confidence(e.design.Confidence, blocks))
	if err != nil {
		return
	}
	out.Q = number(combined.Q)
	out.P = number(combined.P)
	out.I2 = number(combined.I2)
	out.Homogeneous = combined.I2 <= mostI2
	out.Mean = new(ratioOf(combined.Mean, blocks))
	if combined.Prediction != nil {
		out.PredictionLow, out.PredictionHigh = bounds(combined.Prediction.Low, combined.Prediction.High)
	}
}

// trends returns the lines that the study asks for, in elapsed and in CPU time, for every variant that ran at
// all of their points.
func (e *experiment) trends() []lab.TrendLine {
	all := []lab.TrendLine{}
	for _, quantity := range []string{lab.Elapsed, lab.CPU} {
		metric, known := lab.FindMetric(e.study.AllMetrics(), quantity, 0, "")
		if !known {
			continue
		}
		for _, trend := range e.study.Trends {
			for _, v := range e.variants() {
				if line, ok := e.trend(metric, v.Name, trend); ok {
					all = append(all, line)
				}
			}
		}
	}
	return all
}

// trend fits a line and a power law through the means. It returns false if a point is missing, or if one of
// the two cannot be fitted.
func (e *experiment) trend(metric lab.Metric, variant string, trend lab.Trend) (lab.TrendLine, bool) {
	points := trend.Points
	if len(points) == 0 {
		points = e.pointsOf(variant)
	}
	x, y, ok := e.along(metric.Name, variant, trend.Factor, points)
	if !ok {
		return lab.TrendLine{}, false
	}
	line, err := stats.FitLine(x, y)
	if err != nil {
		return lab.TrendLine{}, false
	}
	out := lab.TrendLine{
		Metric: metric.Name, Unit: metric.Unit, Variant: variant, Factor: trend.Factor, Points: points, X: x, Y: y,
		Slope: line.Slope, SlopeSE: line.SlopeSE, Intercept: line.Intercept, InterceptSE: line.InterceptSE,
		R2: line.R2,
	}
	law, err := stats.FitPowerLaw(x, y)
	if err != nil {
		e.note("%s of %s along %s has a level or a mean that is not positive: no trend.", metric.Name, variant,
			trend.Factor)
		return lab.TrendLine{}, false
	}
	exponent := law.SlopeInterval(e.lineConfidence())
	out.Exponent = law.Slope
	out.ExponentSE = law.SlopeSE
	out.ExponentLow, out.ExponentHigh = bounds(exponent.Low, exponent.High)
	out.Warnings = e.warnings(metric, line, exponent, x, y)
	return out, true
}

// along returns the levels of a factor and the means there, or false if a point
// lacks either.
func (e *experiment) along(metric, variant, factor string, points []string) (x, y []float64, ok bool) {
	for _, name := range points {
		point, _ := e.study.Point(name)
		level, set := point.Level(factor)
		mean, measured := e.mean(variant, name, metric)
		if !set || !measured {
			return nil, nil, false
		}
		x = append(x, level)
		y = append(y, mean)
	}
	return x, y, true
}

// warnings returns the reasons why a straight line would mislead, as texts without a capital and a full stop.
func (e *experiment) warnings(
	metric lab.Metric, line stats.Line, exponent stats.Estimate, x, y []float64,
) []string {
	var found []string
	if negative, certain := line.ImpossibleFixedCost(e.lineConfidence()); negative {
		fixed := line.InterceptInterval(e.lineConfidence())
		cost := figure.Between(fixed.Value, fixed.Low, fixed.High)
		text := figure.Difference(cost, metric.Unit)
		if certain { // the whole interval is negative
			found = append(found,
				fmt.Sprintf("the fixed cost of %s is impossible: the straight line is the wrong model", text))
		} else {
			found = append(found, fmt.Sprintf("the line meets zero work below zero (%s), though not clear of it: a "+
				"negative fixed cost is impossible", text))
		}
	}
	shown := figure.Number(figure.Between(exponent.Value, exponent.Low, exponent.High))
	switch {
	case exponent.Low > 1:
		found = append(found, "grows faster than its factor: exponent "+shown)
	case exponent.High < 1:
		found = append(found, "grows slower than its factor: exponent "+shown)
	}
	if _, p, err := stats.Curvature(x, y); err == nil && p < 1-e.lineConfidence() {
		found = append(found, fmt.Sprintf("the residuals are curved (quadratic term, p %s)",
			figure.Rounded(p)))
	}
	return found
}
