package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

const (
	// fewestScaled is the number of levels from which on points are a row along a factor.
	fewestScaled = 3
	// curveSteps is the number of parts of a law's curve, up to the largest level and again beyond it.
	curveSteps = 20
)

// axis is a row of points along a factor.
type axis struct {
	factor string
	points []lab.Point // by rising level
}

// scalingFits fits the scalability law to every variant along every axis with its throughput.
func (e *experiment) scalingFits() []lab.ScalingFit {
	var all []lab.ScalingFit
	for _, a := range e.axes() {
		for _, v := range e.variants() {
			for _, quantity := range []string{lab.Capacity, lab.CompletedRate, lab.Goodput} {
				metric, known := lab.FindMetric(e.study.AllMetrics(), quantity, 0, "")
				if !known {
					continue
				}
				if fit, measured := e.scalingFit(metric, v.Name, a); measured {
					all = append(all, fit)
					break // the others say the same of what is less to the point
				}
			}
		}
	}
	return all
}

// axes returns the rows of points at which a scaling factor alone differs, and those that the study names as
// trends along one.
func (e *experiment) axes() (all []axis) {
	add := func(factor string, points []lab.Point) {
		slices.SortStableFunc(points, func(a, b lab.Point) int {
			return cmp.Compare(a.Levels[factor], b.Levels[factor])
		})
		known := slices.ContainsFunc(all, func(a axis) bool {
			return a.factor == factor && slices.EqualFunc(a.points, points,
				func(p, q lab.Point) bool { return p.Name == q.Name })
		})
		if len(points) >= fewestScaled && !known {
			all = append(all, axis{factor, points})
		}
	}
	for _, factor := range lab.ScalingFactors() {
		for _, trend := range e.study.Trends {
			if trend.Factor == factor {
				add(factor, e.scalingPoints(factor, func(p lab.Point) bool {
					return slices.Contains(trend.Points, p.Name)
				}))
			}
		}
		for _, first := range e.study.Points {
			add(factor, e.scalingPoints(factor, func(p lab.Point) bool { return differOnlyIn(factor, p, first) }))
		}
	}
	return all
}

// scalingPoints returns the points of a kind that set a factor and no rate: an offered rate is what a system
// cannot exceed, however well it scales.
func (e *experiment) scalingPoints(factor string, are func(lab.Point) bool) (points []lab.Point) {
	for _, p := range e.study.Points {
		_, set := p.Level(factor)
		_, rate := p.Level(lab.FactorRate)
		_, perMinute := p.Level(lab.FactorPerMinute)
		if set && !rate && !perMinute && are(p) {
			points = append(points, p)
		}
	}
	return points
}

// differOnlyIn reports whether two points have the same levels but of one factor.
func differOnlyIn(factor string, p, q lab.Point) bool {
	others := func(p lab.Point) map[string]float64 {
		levels := maps.Clone(p.Levels)
		delete(levels, factor)
		return levels
	}
	return maps.Equal(others(p), others(q))
}

// scalingFit fits the law to a variant, or says why not; false where too few levels of an axis were measured
// to ask.
func (e *experiment) scalingFit(metric lab.Metric, variant string, along axis) (lab.ScalingFit, bool) {
	fit := lab.ScalingFit{Metric: metric.Name, Unit: metric.Unit, Variant: variant, Factor: along.factor}
	var measured []series
	for _, p := range along.points {
		if s := e.cells[cell{variant, p.Name, metric.Name}]; len(s.values) > 0 {
			fit.Points, fit.X = append(fit.Points, p.Name), append(fit.X, p.Levels[along.factor])
			measured = append(measured, s)
		}
	}
	if len(measured) < fewestScaled {
		return fit, false
	}
	values := inAllBlocks(measured)
	fit.Blocks = len(values[0])
	for i, of := range values {
		if fit.Blocks == 0 {
			of = measured[i].values
		}
		fit.Y = append(fit.Y, stats.Mean(of))
	}
	law, err := stats.FitScalability(fit.X, values, e.design.Margin, e.sure(e.design.Confidence, fit.Blocks))
	if err != nil {
		var no *stats.NoFitError
		if fit.Refused = err.Error(); errors.As(err, &no) {
			fit.Refused = no.Why
		}
		fit.Words = fmt.Sprintf("No scalability law for %s along %s: %s.", variant, along.factor, fit.Refused)
		return fit, true
	}
	fit.Lambda, fit.Sigma, fit.Kappa = estimated(law.Lambda), estimated(law.Sigma), estimated(law.Kappa)
	if law.Peak != nil {
		fit.Peak = estimated(*law.Peak)
	}
	fit.Worst = law.Worst
	fit.Curve = curveOf(law, fit.X[0])
	fit.Words = saysScaling(fit)
	return fit, true
}

// inAllBlocks returns the values of several series in the blocks that all of them have, in their order.
func inAllBlocks(all []series) [][]float64 {
	values := make([][]float64, len(all))
	for _, block := range all[0].blocks {
		row := make([]float64, 0, len(all))
		for _, s := range all {
			if value, has := s.at(block); has {
				row = append(row, value)
			}
		}
		if len(row) < len(all) {
			continue
		}
		for i, value := range row {
			values[i] = append(values[i], value)
		}
	}
	return values
}

// estimated returns an estimate as a document holds it; an end that is not finite is nil.
func estimated(e stats.Estimate) *lab.Estimate {
	return &lab.Estimate{Value: e.Value, Low: number(e.Low), High: number(e.High)}
}

// curveOf returns what a law says from a level on, as far as it may be asked: in steps of one factor up to
// the largest level, and of another one beyond.
func curveOf(law stats.Scalability, from float64) (points []lab.ScalingPoint) {
	add := func(level float64, beyond bool) {
		if said, err := law.At(level); err == nil {
			points = append(points, lab.ScalingPoint{Level: level, Estimate: *estimated(said), Beyond: beyond})
		}
	}
	for step := range curveSteps {
		add(significant(from*math.Pow(law.Largest/from, float64(step)/curveSteps)), false)
	}
	for step := range curveSteps + 1 {
		add(law.Largest*math.Pow(stats.Farthest, float64(step)/curveSteps), step > 0)
	}
	return points
}

// saysScaling tells what a law says in a sentence or two.
func saysScaling(f lab.ScalingFit) string {
	last := f.Curve[len(f.Curve)-1]
	text := fmt.Sprintf("Along %s (%s) %s has contention %s and coherency %s: ", f.Factor, f.From(), f.Variant,
		figure.Quantity(f.Sigma.Times(100), "%"), figure.Quantity(f.Kappa.Times(100), "%"))
	switch {
	case f.Peak == nil:
		text += fmt.Sprintf("its throughput still rises at %s, the largest that was measured",
			lab.Plain(f.X[len(f.X)-1]))
	case f.Peak.High == nil:
		text += fmt.Sprintf("its throughput is highest at about %s, or further up",
			figure.Number(figure.Alone(f.Peak.Value)))
	default:
		text += fmt.Sprintf("its throughput is highest at %s", figure.Number(*f.Peak))
	}
	return text + fmt.Sprintf(". Extrapolated to %s, twice as far as was measured, it is %s; the law is asked "+
		"no further.", lab.Plain(last.Level), figure.Quantity(last.Estimate, f.Unit))
}
