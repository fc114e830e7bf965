package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// experiment holds the input in order, and the intermediate results that several parts of the analysis need.
type experiment struct {
	in     Input
	study  lab.Study
	design lab.Design
	// trials are in order of block, then playing order, then attempt.
	trials []lab.Trial
	blocks []int                 // the numbers of the blocks that have such trials, in order
	played map[blockSetting]bool // also by trials that do not count
	// profiled holds the valid trials under a profiler, in the same order. They are not among trials.
	profiled []lab.Trial
	// broke holds the trials that broke an invariant, in the same order: also those under a profiler, and those
	// that were shorter than others.
	broke  []lab.Trial
	series map[seriesKey]series
	// struck maps the variants that broke an invariant to the reason.
	struck map[string]string
	noise  map[string]lab.Ratio // noise floor by metric
	// twinTests holds, by metric, the tests of the ratios in noise.
	twinTests map[string]lab.Bias
	margins   map[string]float64 // by metric
	// bias holds the largest bias of each variant with a twin, by metric, over all points: 0 if none was found.
	// The points of its keys are empty.
	bias   map[seriesKey]float64
	biases []lab.Bias
	notes  []string
	// steady holds the steadiness of the trials of all variants. unsteady holds those that were not steady, by
	// variant, point and the quantity that was followed.
	steady   []lab.Steadiness
	unsteady map[seriesKey]lab.Steadiness
	warmUps  []lab.WarmUps
	// lengths holds the factors by which the load was made longer than planned, by point.
	lengths map[string]float64
	shorter int // trials that do not count, because later ones at their points were made longer
	// looks holds the levels of a sequential design; nil: the data are analysed once, at the end.
	looks *stats.Sequence
}

// blockSetting is a setting in a block.
type blockSetting struct {
	block int
	setting
}

// seriesKey identifies a series.
type seriesKey struct{ variant, point, metric string }

// operations is a pseudo-metric: the number of operations of a trial. Every valid trial has it, so that ran
// can tell from its series whether a variant has valid trials.
const operations = "operations"

// series is one metric of one variant at one point: one value per block.
type series struct {
	blocks []int
	values []float64
}

// at returns the value of a block.
func (s series) at(block int) (float64, bool) {
	i, found := slices.BinarySearch(s.blocks, block)
	if !found {
		return 0, false
	}
	return s.values[i], true
}

// set adds the value of a block; a later attempt replaces an earlier one.
func (s series) set(block int, value float64) series {
	if n := len(s.blocks); n > 0 && s.blocks[n-1] == block {
		s.values[n-1] = value
		return s
	}
	return series{append(s.blocks, block), append(s.values, value)}
}

// newExperiment puts the input in order: it sorts the trials, collects their values and judges noise and
// steadiness. Settings of the design that are out of range are replaced by defaults.
func newExperiment(in Input) *experiment {
	e := &experiment{in: in, study: in.Plan.Study, design: in.Plan.Study.Design, series: map[seriesKey]series{},
		played: map[blockSetting]bool{}}
	if !(e.design.Confidence > 0 && e.design.Confidence < 1) {
		e.design.Confidence = 0.95
	}
	if !(e.design.Margin >= 0) || !figure.Finite(e.design.Margin) {
		e.design.Margin = 0
	}
	if !(e.design.Scale > 0) || !figure.Finite(e.design.Scale) {
		e.design.Scale = 1
	}
	e.broke = filter(in.Trials, func(t lab.Trial) bool { return t.Audit.Verdict == lab.AuditInvalid })
	for _, trial := range in.Trials {
		if !trial.Profiled {
			e.played[blockSetting{trial.Block, setting{trial.Variant, trial.Point.Name}}] = true
		}
	}
	e.leaveOutExtremes()
	e.separateProfiled()
	e.trials = slices.Clone(e.in.Trials)
	for _, trials := range [][]lab.Trial{e.trials, e.profiled, e.broke} {
		slices.SortStableFunc(trials, func(a, b lab.Trial) int {
			return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Number, b.Number),
				cmp.Compare(a.Attempt, b.Attempt))
		})
	}
	e.keepLongest()
	for _, trial := range e.trials {
		e.addTrial(trial)
		e.blocks = append(e.blocks, trial.Block)
	}
	e.blocks = slices.Compact(e.blocks)
	e.addLibraryCosts()
	if e.looks = in.looks; e.looks == nil {
		e.looks = levelsOf(e.design)
	}
	e.noteZeros()
	e.strikeOut()
	e.measureNoise()
	for _, v := range e.variants() {
		e.noteNetwork(v)
	}
	e.followSteadiness()
	return e
}

// addTrial adds the values of a valid trial to their series.
func (e *experiment) addTrial(trial lab.Trial) {
	if !trial.Valid {
		return
	}
	_, knownVariant := e.study.Variant(trial.Variant)
	_, knownPoint := e.study.Point(trial.Point.Name)
	if !knownVariant || !knownPoint {
		e.note("Trial %d of %s at %s is not part of the plan and was left out.", trial.Number, trial.Variant,
			trial.Point.Name)
		return
	}
	values := trial.Values()
	if len(e.study.Metrics) > 0 {
		values = maps.Clone(trial.Measures) // without the totals of all units, which are metrics of jobs only
		if values == nil {
			values = map[string]float64{}
		}
	}
	values[operations] = float64(trial.Operations)
	for _, m := range slices.Concat(e.study.AllMetrics(), []lab.Metric{{Name: operations}}) {
		if value, measured := values[m.Name]; measured {
			at := seriesKey{trial.Variant, trial.Point.Name, m.Name}
			e.series[at] = e.series[at].set(trial.Block, value)
		}
	}
}

// leaveOutExtremes leaves out the trials that hold an extreme number, with a note for each. So all numbers
// that are computed from trials are finite, unless something is divided by 0. Such a trial was played, and
// strikes its variant out if it broke an invariant: it stays in e.broke, without extreme figures.
func (e *experiment) leaveOutExtremes() {
	e.in.Trials = slices.DeleteFunc(slices.Clone(e.in.Trials), func(t lab.Trial) bool {
		number, found := extremeIn(reflect.ValueOf(t))
		if found {
			e.note("Trial %d of %s at %s holds the number %g, which cannot be computed with: it was left out.",
				t.Number, t.Variant, t.Point.Name, number)
		}
		return found
	})
	for i, t := range e.broke {
		if _, found := extremeIn(reflect.ValueOf(t.Audit.Figures)); found {
			e.broke[i].Audit.Figures = nil
		}
	}
}

// extremeIn returns a number in the exported fields of a value that is not finite, or so large or so small
// that the square of a variance of such numbers might not be, if there is one.
func extremeIn(v reflect.Value) (number float64, found bool) {
	const most = 1e60
	switch v.Kind() {
	case reflect.Float64:
		size := math.Abs(v.Float())
		isTiny := size > 0 && size < 1/most
		return v.Float(), isTiny || !(size <= most) // or NaN
	case reflect.Pointer:
		if !v.IsNil() {
			return extremeIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanInterface() { // it is exported
				if number, found = extremeIn(field); found {
					return number, true
				}
			}
		}
	case reflect.Slice, reflect.Map:
		for _, value := range v.Seq2() {
			if number, found = extremeIn(value); found {
				return number, true
			}
		}
	}
	return 0, false
}

// lastBlock returns the highest number of a block that has trials.
func (e *experiment) lastBlock() int {
	if len(e.blocks) == 0 {
		return 0
	}
	return e.blocks[len(e.blocks)-1]
}

// strikeOut finds the variants that broke an invariant in any trial. A twin is
// the same variant under a second name: if it breaks one, so has its original.
func (e *experiment) strikeOut() {
	e.struck = map[string]string{}
	for _, trial := range e.broke {
		reason := fmt.Sprintf("its audit was invalid in trial %d", trial.Number)
		if len(trial.Audit.Problems) > 0 {
			reason += ": " + trial.Audit.Problems[0]
		}
		names := []string{trial.Variant}
		if v, ok := e.study.Variant(trial.Variant); ok && v.TwinOf != "" {
			names = append(names, v.TwinOf)
		}
		for _, name := range names {
			if _, known := e.struck[name]; !known {
				e.struck[name] = reason
			}
		}
	}
}

// variants returns the variants that are compared: all but twins and those that were struck out.
func (e *experiment) variants() []lab.Variant {
	return filter(e.study.Variants, func(v lab.Variant) bool { return v.TwinOf == "" && e.struck[v.Name] == "" })
}

// settings yields all pairs of a compared variant and a point of the study.
func (e *experiment) settings() iter.Seq2[lab.Variant, lab.Point] {
	return func(yield func(lab.Variant, lab.Point) bool) {
		for _, v := range e.variants() {
			for _, point := range e.study.Points {
				if !yield(v, point) {
					return
				}
			}
		}
	}
}

// playedSetting is a variant at a point of the study.
type playedSetting struct {
	lab.Variant
	point lab.Point
}

// trialsBySetting yields all pairs of a compared variant and a point, with the trials that count. It skips
// pairs without such trials.
func (e *experiment) trialsBySetting() iter.Seq2[playedSetting, []lab.Trial] {
	return func(yield func(playedSetting, []lab.Trial) bool) {
		for v, point := range e.settings() {
			if trials := e.counted(v.Name, point.Name); len(trials) > 0 && !yield(playedSetting{v, point}, trials) {
				return
			}
		}
	}
}

// ran reports whether a variant has valid trials at a point.
func (e *experiment) ran(variant, point string) bool {
	return len(e.series[seriesKey{variant, point, operations}].values) > 0
}

// counts reports whether a variant has a valid trial at a point in a block.
func (e *experiment) counts(variant, point string, block int) bool {
	_, found := e.series[seriesKey{variant, point, operations}].at(block)
	return found
}

// pointsOf returns the points, in the order of the study, at which all of the
// variants have valid trials.
func (e *experiment) pointsOf(variants ...string) []string {
	var names []string
	for _, p := range e.study.Points {
		if allOf(variants, func(v string) bool { return e.ran(v, p.Name) }) {
			names = append(names, p.Name)
		}
	}
	return names
}

// noteZeros adds a note for each metric with values that have no logarithm, and therefore no ratio.
func (e *experiment) noteZeros() {
	for _, metric := range e.study.AllMetrics() {
		zeros, all := 0, 0
		for at, s := range e.series {
			if at.metric != metric.Name {
				continue
			}
			all += len(s.values)
			for _, value := range s.values {
				if value <= 0 {
					zeros++
				}
			}
		}
		isNoShare := metric.Kind == lab.KindShare && zeros == all // as that of errors: it needs no note
		if zeros > 0 && !isNoShare {
			e.note("%s: %d of %d values left out of the ratios, since zero or less has none.", metric.Name, zeros,
				all)
		}
	}
}

// note adds a note to the report, unless it is already there.
func (e *experiment) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.notes, text) {
		e.notes = append(e.notes, text)
	}
}

// metric returns the metric with a name.
func (e *experiment) metric(name string) (lab.Metric, bool) {
	return lab.MetricNamed(e.study.AllMetrics(), name)
}

// isAmong reports whether a metric is one of several.
func isAmong(metrics []lab.Metric, name string) bool {
	_, is := lab.MetricNamed(metrics, name)
	return is
}

// metricName returns the name of the metric that lab.FindMetric finds, "" if the study has none. No series
// has that name.
func (e *experiment) metricName(quantity string, quantile float64, per string) string {
	m, _ := lab.FindMetric(e.study.AllMetrics(), quantity, quantile, per)
	return m.Name
}

// headlineMetric returns the name of the metric that sentences are about: the system's first one, or for a
// job its time per operation, which can be compared over points.
func (e *experiment) headlineMetric() string {
	if len(e.study.Metrics) > 0 {
		return e.study.Metrics[0].Name
	}
	return e.metricName(lab.Elapsed, 0, lab.PerOperation)
}
