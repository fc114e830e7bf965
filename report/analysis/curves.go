package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// leastCompleted is the completed share of the offered rate below which operations piled up. It
// leaves room for the operations that were in flight when the load ended.
const leastCompleted = 0.95

// leastAchieved is the sent share of the offered rate below which a rate was not held.
const leastAchieved = 0.99

// counted returns the valid trials of a variant at a point, one per block; a later
// attempt replaces an earlier one.
func (e *experiment) counted(variant, point string) []lab.Trial {
	var found []lab.Trial
	for _, trial := range e.trials {
		isHere := trial.Variant == variant && trial.Point.Name == point
		if !trial.Valid || !isHere {
			continue
		}
		if n := len(found); n > 0 && found[n-1].Block == trial.Block {
			found = found[:n-1]
		}
		found = append(found, trial)
	}
	return found
}

// curves returns the metrics of every variant over the offered rate. A study without
// rates has none.
func (e *experiment) curves() []lab.Curve {
	var curves []lab.Curve
	for _, metric := range e.study.AllMetrics() {
		if !traitsOf(metric).overRate {
			continue
		}
		for _, v := range e.variants() {
			if points := e.curvePoints(v.Name, metric.Name); len(points) > 0 {
				curves = append(curves, lab.Curve{Variant: v.Name, Metric: metric.Name, Unit: metric.Unit,
					Points: points})
			}
		}
	}
	return curves
}

// curvePoints returns the points of a curve, in the order of their rates.
func (e *experiment) curvePoints(variant, metric string) []lab.CurvePoint {
	var points []lab.CurvePoint
	for _, point := range e.study.Points {
		trials := e.counted(variant, point.Name)
		values := slices.Clone(e.series[seriesKey{variant, point.Name, metric}].values)
		offered, known := offeredRate(point, trials)
		if !known || len(values) == 0 {
			continue
		}
		p := lab.CurvePoint{Point: point.Name, Offered: offered, Median: stats.Median(values), Values: values,
			Held: allOf(trials, e.held)}
		p.Missed = p.Held && !allOf(trials, e.heldWithin)
		if steps := figuresOf(trials, lab.FigureFlow); len(steps) > 0 {
			p.Due = offered * stats.Median(steps)
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b lab.CurvePoint) int { return cmp.Compare(a.Offered, b.Offered) })
	return points
}

// markPiledUp marks the comparisons in which one of the two variants did not hold the rate of the point.
func markPiledUp(comparisons []lab.Comparison, curves []lab.Curve) {
	type at struct{ variant, point string }
	unheld := map[at]bool{}
	for _, c := range curves {
		for _, p := range c.Points {
			unheld[at{c.Variant, p.Point}] = unheld[at{c.Variant, p.Point}] || !p.Held
		}
	}
	for i, c := range comparisons {
		comparisons[i].PiledUp = unheld[at{c.Variant, c.Point.Name}] || unheld[at{c.Baseline, c.Point.Name}]
	}
}

// offeredRate returns the offered rate of a point in flows per second: the level of
// its factor, else the median of the rates that the generators reported. It returns false for a closed loop.
func offeredRate(point lab.Point, trials []lab.Trial) (float64, bool) {
	if rate, set := point.Rate(); set {
		return rate, rate > 0
	}
	rate := stats.Median(figuresOf(trials, lab.FigureOffered))
	return rate, rate > 0
}

// figuresOf returns the values of a figure in the audits that have it.
func figuresOf(trials []lab.Trial, name string) []float64 {
	var values []float64
	for _, trial := range trials {
		if value, ok := trial.Audit.Figures[name]; ok {
			values = append(values, value)
		}
	}
	return values
}

// allOf reports whether all elements fulfil a condition.
func allOf[T any](all []T, is func(T) bool) bool {
	return !slices.ContainsFunc(all, func(one T) bool { return !is(one) })
}

// held reports whether a trial held its rate: as its audit says, else if operations were sent and
// completed at the rate. A figure that was not measured does not count against it.
func (e *experiment) held(trial lab.Trial) bool {
	figures := trial.Audit.Figures
	if held, audited := figures[lab.FigureHeld]; audited {
		return held >= 1
	}
	offered := figures[lab.FigureOffered]
	if completed, measured := trial.Measures[e.metricName(lab.CompletedRate, 0, "")]; measured &&
		completed < leastCompleted*offered {
		return false
	}
	achieved, measured := figures[lab.FigureAchieved]
	return !measured || achieved >= leastAchieved*offered
}

// spectra returns the distributions of every quantity, per variant and point. The
// median is taken over the trials at each share: percentiles are never averaged
// and trials never pooled, because trials are the sample.
func (e *experiment) spectra() []lab.Spectrum {
	var all []lab.Spectrum
	for at, trials := range e.trialsBySetting() {
		for _, quantity := range keysOf(trials, func(t lab.Trial) map[string][]lab.Quantile { return t.Spectra }) {
			s := lab.Spectrum{Variant: at.Name, Point: at.point, Quantity: quantity}
			for _, trial := range trials {
				if quantiles := rounded(trial.Spectra[quantity]); len(quantiles) > 0 {
					s.Trials = append(s.Trials, quantiles)
				}
			}
			if s.Median = medianSpectrum(s.Trials); len(s.Median) > 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

// rounded returns the quantiles with four significant digits, one more than the
// histograms behind them have. All digits would make the document half as large again.
func rounded(quantiles []lab.Quantile) []lab.Quantile {
	all := slices.Clone(quantiles)
	for i, q := range all {
		all[i].Value = significant(q.Value)
	}
	return all
}

// significant rounds to four significant digits.
func significant(value float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 4, 64), 64) // it reads its own text
	return rounded
}

// medianSpectrum returns the median over the trials at each share that more than half
// of them have.
func medianSpectrum(trials [][]lab.Quantile) []lab.Quantile {
	byShare := map[float64][]float64{}
	for _, quantiles := range trials {
		for _, q := range quantiles {
			byShare[q.Share] = append(byShare[q.Share], q.Value)
		}
	}
	var middle []lab.Quantile
	for _, share := range slices.Sorted(maps.Keys(byShare)) {
		if values := byShare[share]; 2*len(values) > len(trials) {
			middle = append(middle, lab.Quantile{Share: share, Value: stats.Median(values)})
		}
	}
	return middle
}
