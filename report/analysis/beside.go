package analysis

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// SideBySide holds two variants of a run, or two trials, side by side.
type SideBySide struct {
	Names [2]string // the second is compared with the first
	Note  string    // explains the ratios
	// Figures holds every metric that was measured in either.
	Figures []SideFigure
	// Drawn is an analysis of the two at one point that has only what plots show: spectra and courses.
	Drawn lab.Analysis
}

// SideFigure is a metric of two variants or trials.
type SideFigure struct {
	Metric  lab.Metric
	Point   string                // empty for two trials
	Each    [2]*lab.Estimate      // nil: not measured
	Ratio   *lab.Ratio            // second / first; nil: unknown
	Verdict lab.ComparisonVerdict // empty: there is none
	Words   string                // the verdict as text, or why there is none; may be empty
}

// isOfBoth reports whether the metric was measured in both.
func (f SideFigure) isOfBoth() bool { return f.Each[0] != nil && f.Each[1] != nil }

// CompareVariants returns two variants of a run side by side. If the run compares them, its base comes first.
// Spectra and courses are those at point or, if that is empty, at the first point that has any.
func CompareVariants(a lab.Analysis, names [2]string, point string) (SideBySide, error) {
	for _, name := range names {
		if !slices.Contains(a.VariantNames(), name) {
			return SideBySide{}, fmt.Errorf("the run has no variant %q: %w", name, fs.ErrNotExist)
		}
	}
	if names[0] == names[1] {
		return SideBySide{}, fmt.Errorf("%q is chosen twice: choose two variants", names[0])
	}
	if comparesPair(a, names[1], names[0]) {
		names[0], names[1] = names[1], names[0]
	}
	b := SideBySide{Names: names, Note: "The study does not compare these two variants. Their ratios pair " +
		"the trials of each block. There are no verdicts."}
	if comparesPair(a, names[0], names[1]) {
		b.Note = "Ratios and verdicts are those of the report."
	}
	if stoppedEarly(a) {
		b.Note += " Ratios that the report does not have are without intervals, because the run ended when its " +
			"comparisons were decided."
	}
	results := resultsByKey(a)
	for _, m := range a.Metrics {
		for _, p := range a.Points {
			first, measured := results[seriesKey{names[0], p.Name, m.Name}]
			second, both := results[seriesKey{names[1], p.Name, m.Name}]
			if measured || both {
				b.Figures = append(b.Figures, newSideFigure(a, m, p.Name, names, [2]lab.Result{first, second}))
			}
		}
	}
	b.Drawn = drawnVariants(a, names, point)
	return b, nil
}

// comparesPair reports whether a run compares a variant with a base.
func comparesPair(a lab.Analysis, base, variant string) bool {
	return slices.ContainsFunc(a.Comparisons, func(c lab.Comparison) bool {
		return c.Variant == variant && c.Baseline == base
	})
}

// stoppedEarly reports whether a run may have stopped because its comparisons were decided. Intervals of
// other comparisons would then be too narrow.
func stoppedEarly(a lab.Analysis) bool { return a.Trials.Spared > 0 }

// newSideFigure returns a metric of two variants at a point.
func newSideFigure(
	a lab.Analysis, m lab.Metric, point string, names [2]string, results [2]lab.Result,
) SideFigure {
	f := SideFigure{Metric: m, Point: point}
	var broke []string
	for i, r := range results {
		if r.N > 0 {
			f.Each[i] = &lab.Estimate{Value: r.Mean, Low: r.Low, High: r.High}
		}
		if a.StruckOut(names[i]) {
			broke = append(broke, names[i])
		}
	}
	if len(broke) > 0 {
		f.Words = figure.And(broke) + " broke a rule of the system"
	}
	if f.Words != "" || !f.isOfBoth() {
		return f
	}
	if c := findComparison(a.Comparisons, m.Name, point, pair{names[1], names[0]}); c != nil {
		f.Ratio = &c.Ratio
		f.Verdict = c.Verdict
		f.Words = c.Words
		return f
	}
	f.Ratio = ratioByBlock(results[1], results[0], a.Confidence)
	if f.Ratio != nil && stoppedEarly(a) {
		f.Ratio.Low = nil
		f.Ratio.High = nil
	}
	return f
}

// ratioByBlock returns the ratio of two results over the blocks in which both have values above 0, or nil if
// there is no such block. In a stranger's document the numbers of blocks and values may differ.
func ratioByBlock(over, under lab.Result, confidence float64) *lab.Ratio {
	var up, down []float64
	blocksOfUnder := under.Blocks[:min(len(under.Blocks), len(under.Values))]
	for i, block := range over.Blocks[:min(len(over.Blocks), len(over.Values))] {
		at := slices.Index(blocksOfUnder, block)
		if at < 0 {
			continue
		}
		if u, d := over.Values[i], under.Values[at]; u > 0 && d > 0 {
			up = append(up, u)
			down = append(down, d)
		}
	}
	if len(up) == 0 {
		return nil
	}
	ratio, err := stats.PairedRatio(up, down, confidence)
	if err != nil { // one block has no interval
		return &lab.Ratio{Ratio: up[0] / down[0], N: len(up)}
	}
	return new(ratioOf(ratio.Estimate, len(up)))
}

// drawnVariants returns an analysis with the spectra and courses of two variants at one point.
func drawnVariants(a lab.Analysis, names [2]string, point string) lab.Analysis {
	drawn := lab.Analysis{Baseline: names[0], Audit: map[string]lab.AuditSum{}}
	for _, name := range names {
		verdict := a.Audit[name].Verdict
		if a.StruckOut(name) { // perhaps for its twin, which is not drawn
			verdict = lab.AuditInvalid
		}
		drawn.Audit[name] = lab.AuditSum{Verdict: verdict}
		drawn.Variants = append(drawn.Variants, lab.Variant{Name: name})
	}
	at := func(variant, p string) bool {
		if !slices.Contains(names[:], variant) {
			return false
		}
		point = cmp.Or(point, p) // the first point that has any
		return p == point
	}
	for _, s := range a.Spectra {
		if at(s.Variant, s.Point.Name) {
			drawn.Spectra = append(drawn.Spectra, s)
		}
	}
	for _, c := range a.Courses {
		if at(c.Variant, c.Point) {
			drawn.Courses = append(drawn.Courses, thinned(c))
		}
	}
	drawn.Points = []lab.Point{{Name: point}}
	return drawn
}

// Distributions returns the quantities whose distributions are shown side by side.
func Distributions() []string {
	return []string{lab.ResponseTime, lab.CompletionTime, lab.ServiceTime, lab.Staleness, lab.ReferenceStaleness}
}

// CompareTrials returns two trials side by side, under the given names, in the given metrics. Ratios of
// single trials have no intervals.
func CompareTrials(trials [2]lab.Trial, names [2]string, metrics []lab.Metric) SideBySide {
	b := SideBySide{Names: names,
		Note: "One trial each: the ratios have no intervals, and there are no verdicts."}
	values := [2]map[string]float64{trials[0].Values(), trials[1].Values()}
	for _, m := range metrics {
		f := SideFigure{Metric: m}
		var reasons []string
		for i := range trials {
			if value, measured := values[i][m.Name]; measured {
				f.Each[i] = &lab.Estimate{Value: value}
			} else if why := trials[i].Unmeasured[m.Name]; why != "" {
				reasons = append(reasons, names[i]+": "+why)
			}
		}
		f.Words = strings.Join(reasons, "; ")
		isEmpty := f.Each[0] == nil && f.Each[1] == nil
		if isEmpty && f.Words == "" {
			continue
		}
		if f.isOfBoth() && min(f.Each[0].Value, f.Each[1].Value) > 0 {
			f.Ratio = &lab.Ratio{Ratio: f.Each[1].Value / f.Each[0].Value, N: 1}
		}
		b.Figures = append(b.Figures, f)
	}
	const point = "trial"
	b.Drawn = lab.Analysis{Baseline: names[0], Points: []lab.Point{{Name: point}},
		Audit: map[string]lab.AuditSum{}}
	for i, t := range trials {
		b.Drawn.Variants = append(b.Drawn.Variants, lab.Variant{Name: names[i]})
		for _, quantity := range Distributions() {
			if spectrum := t.Spectra[quantity]; len(spectrum) > 0 {
				b.Drawn.Spectra = append(b.Drawn.Spectra, lab.Spectrum{Variant: names[i],
					Point: lab.Point{Name: point}, Quantity: quantity, Median: spectrum})
			}
		}
		course := trialCourse(t)
		course.Variant = names[i]
		course.Point = point
		course.Trial = i + 1
		if len(course.End) > 0 {
			course.Used = usageCourse(t)
			b.Drawn.Courses = append(b.Drawn.Courses, thinned(course))
		}
	}
	return b
}

// mostPoints is the largest number of points of a course in a plot.
const mostPoints = 1000

// thinned returns a course with at most mostPoints points. Each stands for several: with the means of their
// rates and processors, and the maxima of their times and memory.
func thinned(c lab.TrialCourse) lab.TrialCourse {
	longest := func(times []*float64) *float64 {
		known := figure.Known(times)
		if len(known) == 0 {
			return nil
		}
		return new(slices.Max(known))
	}
	last := func(ends []float64) float64 { return ends[len(ends)-1] }
	c.End = inBins(c.End, last)
	c.Rate = inBins(c.Rate, stats.Mean)
	c.Median = inBins(c.Median, longest)
	c.P99 = inBins(c.P99, longest)
	if c.Used != nil {
		used := *c.Used
		used.End = inBins(used.End, last)
		used.Cores = inBins(used.Cores, stats.Mean)
		used.Memory = inBins(used.Memory, slices.Max)
		c.Used = &used
	}
	return c
}

// inBins joins neighbouring values, in bins of equal size, so that at most mostPoints remain.
func inBins[T any](values []T, join func([]T) T) []T {
	each := (len(values) + mostPoints - 1) / mostPoints
	if each < 2 {
		return values
	}
	var joined []T
	for bin := range slices.Chunk(values, each) {
		joined = append(joined, join(bin))
	}
	return joined
}
