package analysis

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// trends fits the lines that the study asks for, to every variant that ran at
// all of the points.
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

// trend fits one line through the means; false where a point is missing.
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
	exponent := law.SlopeInterval(e.design.Confidence)
	out.Exponent, out.ExponentSE = law.Slope, law.SlopeSE
	out.ExponentLow, out.ExponentHigh = bounds(exponent.Low, exponent.High)
	out.Warnings = e.warnings(metric, line, exponent, x, y)
	return out, true
}

// along returns the levels of a factor and the means there; false where a point
// lacks either.
func (e *experiment) along(metric, variant, factor string, points []string) (x, y []float64, ok bool) {
	for _, name := range points {
		point, _ := e.study.Point(name)
		level, set := point.Level(factor)
		mean, measured := e.mean(variant, name, metric)
		if !set || !measured {
			return nil, nil, false
		}
		x, y = append(x, level), append(y, mean)
	}
	return x, y, true
}

// warnings says why a straight line would mislead.
func (e *experiment) warnings(
	metric lab.Metric, line stats.Line, exponent stats.Estimate, x, y []float64,
) []string {
	var found []string
	if negative, beyond := line.ImpossibleFixedCost(e.design.Confidence); negative {
		fixed := line.InterceptInterval(e.design.Confidence)
		text := figure.Quantity(figure.Between(fixed.Value, fixed.Low, fixed.High), metric.Unit)
		if beyond {
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
	if _, p, err := stats.Curvature(x, y); err == nil && p < 1-e.design.Confidence {
		found = append(found, fmt.Sprintf("the residuals are curved (quadratic term, p %s)",
			figure.Number(figure.Alone(p))))
	}
	return found
}
