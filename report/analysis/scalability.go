package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

const (
	// fewestScaled is the smallest number of points, or variants, of a row.
	fewestScaled = 3
	// curveSteps is the number of parts of a law's curve, up to the largest level and again beyond it.
	curveSteps = 20
)

// row is a series of measurements to which a law is fitted, in the order of its levels: points along a
// factor, or variants along the number of replicas of a unit.
type row struct {
	factor string // name of the factor, or "UNIT.replicas"
	levels []level
}

// level is one measurement of a row: the value x of the factor, and where it was measured.
type level struct {
	x              float64
	variant, point string
}

// scalingFits returns the fits of the scalability law to the throughput of all rows.
func (e *experiment) scalingFits() []lab.ScalingFit {
	var all []lab.ScalingFit
	for _, r := range slices.Concat(e.rowsOfPoints(), e.rowsOfVariants()) {
		for _, quantity := range []string{lab.Capacity, lab.CompletedRate, lab.Goodput} {
			metric, known := lab.FindMetric(e.study.AllMetrics(), quantity, 0, "")
			if !known {
				continue
			}
			if fit, measured := e.scalingFit(metric, r); measured {
				all = append(all, fit)
				break // the other quantities measure the same less directly
			}
		}
	}
	return all
}

// rowsOfPoints returns, for every variant, the rows of points that differ in a scaling factor alone, and
// those of the study's trends along one.
func (e *experiment) rowsOfPoints() (all []row) {
	var known [][]lab.Point
	add := func(factor string, points []lab.Point) {
		slices.SortStableFunc(points, func(a, b lab.Point) int {
			return cmp.Compare(a.Levels[factor], b.Levels[factor])
		})
		isKnown := slices.ContainsFunc(known, func(row []lab.Point) bool {
			return slices.EqualFunc(row, points, func(p, q lab.Point) bool { return p.Name == q.Name })
		})
		if len(points) < fewestScaled || isKnown {
			return
		}
		known = append(known, points)
		for _, v := range e.variants() {
			r := row{factor: factor}
			for _, p := range points {
				r.levels = append(r.levels, level{p.Levels[factor], v.Name, p.Name})
			}
			all = append(all, r)
		}
	}
	for _, factor := range lab.ScalingFactors() {
		known = nil
		for _, trend := range e.study.Trends {
			if trend.Factor == factor {
				add(factor, e.scalingPoints(factor, func(p lab.Point) bool {
					return slices.Contains(trend.Points, p.Name)
				}))
			}
		}
		for _, first := range e.study.Points {
			alike := func(p lab.Point) bool { return differOnlyIn(factor, p, first) }
			add(factor, e.scalingPoints(factor, alike))
		}
	}
	return all
}

// scalingPoints returns the points that set a factor and no rate, and fulfil a condition.
func (e *experiment) scalingPoints(factor string, fits func(lab.Point) bool) (points []lab.Point) {
	for _, p := range e.study.Points {
		if _, set := p.Level(factor); set && !offersRate(p) && fits(p) {
			points = append(points, p)
		}
	}
	return points
}

// offersRate reports whether a point sets an offered rate. No system can exceed it, however well it scales.
func offersRate(p lab.Point) bool {
	_, sets := p.Rate()
	return sets
}

// rowsOfVariants returns, for every point without a rate, the rows of variants that differ in the number of
// replicas of one unit alone.
func (e *experiment) rowsOfVariants() (all []row) {
	variants := e.variants()
	units := map[string]bool{}
	for _, v := range variants {
		for unit := range v.Replicas {
			units[unit] = true
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		for i, first := range variants {
			belongs := func(v lab.Variant) bool { return differInReplicas(unit, v, first) }
			if slices.ContainsFunc(variants[:i], belongs) {
				continue // an earlier variant has the same row
			}
			all = append(all, e.rowsAlong(unit, filter(variants, belongs))...)
		}
	}
	return all
}

// rowsAlong returns the rows of variants along the number of replicas of a unit.
func (e *experiment) rowsAlong(unit string, variants []lab.Variant) (all []row) {
	replicas := func(v lab.Variant) int { return max(1, v.Replicas[unit]) }
	byReplicas := func(a, b lab.Variant) int { return cmp.Compare(replicas(a), replicas(b)) }
	slices.SortStableFunc(variants, byReplicas)
	variants = slices.CompactFunc(variants, func(a, b lab.Variant) bool { return byReplicas(a, b) == 0 })
	for _, p := range e.study.Points {
		r := row{factor: unit + ".replicas"}
		for _, v := range variants {
			if v.RunsAt(p.Name) && !offersRate(p) {
				r.levels = append(r.levels, level{float64(replicas(v)), v.Name, p.Name})
			}
		}
		if len(r.levels) >= fewestScaled {
			all = append(all, r)
		}
	}
	return all
}

// differInReplicas reports whether two variants differ at most in the number of replicas of a unit.
func differInReplicas(unit string, a, b lab.Variant) bool {
	others := func(v lab.Variant) map[string]int {
		replicas := maps.Clone(v.Replicas)
		maps.DeleteFunc(replicas, func(name string, n int) bool { return name == unit || n == 1 })
		return replicas
	}
	return alikeUnscaled(a, b) && maps.Equal(a.Limits, b.Limits) && maps.Equal(others(a), others(b))
}

// alikeUnscaled reports whether two variants differ at most in their names, points, replicas and limits.
func alikeUnscaled(a, b lab.Variant) bool {
	bare := func(v lab.Variant) lab.Variant {
		v.Name = ""
		v.Summary = ""
		v.Points = nil
		v.Replicas = nil
		v.Limits = nil
		return v
	}
	return reflect.DeepEqual(bare(a), bare(b))
}

// differOnlyIn reports whether two points differ at most in the level of a factor.
func differOnlyIn(factor string, p, q lab.Point) bool {
	others := func(p lab.Point) map[string]float64 {
		levels := maps.Clone(p.Levels)
		delete(levels, factor)
		return levels
	}
	return maps.Equal(others(p), others(q))
}

// scalingFit returns the fit of the law to a row, or why the law is refused. It returns false if too few
// levels of the row were measured.
func (e *experiment) scalingFit(metric lab.Metric, r row) (lab.ScalingFit, bool) {
	fit := lab.ScalingFit{Metric: metric.Name, Unit: metric.Unit, Factor: r.factor}
	var measured []series
	for _, at := range r.levels {
		if s := e.series[seriesKey{at.variant, at.point, metric.Name}]; len(s.values) > 0 {
			fit.Points = append(fit.Points, at.point)
			fit.Variants = append(fit.Variants, at.variant)
			fit.X = append(fit.X, at.x)
			measured = append(measured, s)
		}
	}
	if len(measured) < fewestScaled {
		return fit, false
	}
	fit.Variant = fit.Variants[0]
	if len(slices.Compact(slices.Clone(fit.Variants))) == 1 {
		fit.Variants = nil
	}
	values := inAllBlocks(measured)
	fit.Blocks = len(values[0])
	for i, of := range values {
		if fit.Blocks == 0 { // no block has all levels: the law is refused, and the means are over all trials
			of = measured[i].values
		}
		fit.Y = append(fit.Y, stats.Mean(of))
	}
	law, err := stats.FitScalability(fit.X, values, e.design.Margin,
		e.confidence(e.design.Confidence, fit.Blocks))
	if err != nil {
		fit.Refused = err.Error()
		fit.Words = fmt.Sprintf("No scalability law for %s along %s: %s.", scaledName(fit), fit.Factor, fit.Refused)
		return fit, true
	}
	fit.Lambda = estimated(law.Lambda)
	fit.Sigma = estimated(law.Sigma)
	fit.Kappa = estimated(law.Kappa)
	if law.Peak != nil {
		fit.Peak = estimated(*law.Peak)
	}
	fit.Worst = law.Worst
	fit.Curve = curveOf(law, fit.X[0])
	fit.Words = scalingSentence(fit)
	return fit, true
}

// scaledName returns the variant of a fit, or "the system" if the fit is over several variants.
func scaledName(f lab.ScalingFit) string {
	if len(f.Variants) > 0 {
		return "the system"
	}
	return f.Variant
}

// inAllBlocks returns the values of each series in the blocks that all of them have.
func inAllBlocks(all []series) [][]float64 {
	values := make([][]float64, len(all))
	for _, block := range all[0].blocks {
		inBlock := make([]float64, 0, len(all))
		for _, s := range all {
			if value, has := s.at(block); has {
				inBlock = append(inBlock, value)
			}
		}
		if len(inBlock) < len(all) {
			continue
		}
		for i, value := range inBlock {
			values[i] = append(values[i], value)
		}
	}
	return values
}

// estimated returns an estimate in the form of the document, in which an infinite end is nil.
func estimated(e stats.Estimate) *lab.Estimate {
	return &lab.Estimate{Value: e.Value, Low: number(e.Low), High: number(e.High)}
}

// curveOf returns the curve of a law from a level up to the largest one and, as extrapolation, beyond. The
// steps of each of the two parts are equal on the log scale.
func curveOf(law stats.Scalability, from float64) (points []lab.ScalingPoint) {
	add := func(level float64, beyond bool) {
		if throughput, err := law.At(level); err == nil {
			points = append(points, lab.ScalingPoint{Level: level, Estimate: *estimated(throughput), Beyond: beyond})
		}
	}
	for step := range curveSteps {
		growth := math.Pow(law.Largest/from, float64(step)/curveSteps)
		add(significant(from*growth), false)
	}
	for step := range curveSteps + 1 {
		growth := math.Pow(stats.Farthest, float64(step)/curveSteps)
		add(law.Largest*growth, step > 0)
	}
	return points
}

// scalingSentence describes a fitted law in a sentence or two.
func scalingSentence(f lab.ScalingFit) string {
	last := f.Curve[len(f.Curve)-1]
	contention := figure.Quantity(f.Sigma.Times(100), "%")
	coherency := figure.Quantity(f.Kappa.Times(100), "%")
	text := fmt.Sprintf("Along %s (%s) %s has contention %s and coherency %s: ", f.Factor, f.From(),
		scaledName(f), contention, coherency)
	switch {
	case f.Peak == nil:
		text += fmt.Sprintf("its throughput still rises at %s, the largest that was measured",
			lab.Plain(f.X[len(f.X)-1]))
	case f.Peak.High == nil:
		text += fmt.Sprintf("its throughput is highest at about %s, or further up",
			figure.Rounded(f.Peak.Value))
	default:
		text += fmt.Sprintf("its throughput is highest at %s", figure.Number(*f.Peak))
	}
	return text + fmt.Sprintf(". Extrapolated to %s, twice as far as was measured, it is %s; the law is asked "+
		"no further.", lab.Plain(last.Level), figure.Quantity(last.Estimate, f.Unit))
}
