package analysis

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// mostProblems is the largest number of problems that are listed of a variant's audits, and of lines that a
// user's own audit wrote.
const mostProblems = 20

// countTrials counts the trials: planned, valid, further and spared ones. It lists the invalid ones.
func (e *experiment) countTrials() lab.TrialCounts {
	counts := lab.TrialCounts{Planned: len(e.in.Plan.Trials), Shorter: e.shorter, Invalid: []lab.InvalidTrial{}}
	valid := map[int]bool{} // by number: an attempt may be repeated
	for _, trial := range e.trials {
		if trial.Valid {
			valid[trial.Number] = true
			continue
		}
		counts.Invalid = append(counts.Invalid, lab.InvalidTrial{
			Trial: trial.Number, Attempt: trial.Attempt, Variant: trial.Variant, Point: trial.Point.Name,
			Reason: trial.Reason,
		})
	}
	counts.Valid = len(valid)
	further := map[int]bool{}
	for _, trial := range e.in.Trials {
		if trial.Block > e.design.Blocks {
			further[trial.Number] = true
		}
	}
	counts.Further = len(further)
	counts.Planned += counts.Further
	if e.design.Until == lab.UntilDecided {
		for _, planned := range e.in.Plan.Trials {
			if !e.attempted(planned.Block, planned.Variant, planned.Point) {
				counts.Spared++
			}
		}
	}
	return counts
}

// attempted reports whether a trial was played, whether it counts or not.
func (e *experiment) attempted(block int, variant, point string) bool {
	return e.played[blockSetting{block, setting{variant, point}}]
}

// audits returns the sum of the audits of each variant, over the trials that count and
// those whose audit was invalid. Its verdict is the worst of them, or unknown without any.
func (e *experiment) audits() map[string]lab.AuditSum {
	sums := map[string]lab.AuditSum{}
	for _, v := range e.study.Variants {
		sums[v.Name] = e.auditOf(v.Name)
	}
	return sums
}

// auditOf returns the sum of the audits of a variant: counts are added, and figures are medians.
func (e *experiment) auditOf(variant string) lab.AuditSum {
	sum := lab.AuditSum{Verdict: lab.AuditUnknown, Counts: map[string]int64{}, Figures: map[string]float64{}}
	figures := columns{}
	counted := filter(e.trials, func(t lab.Trial) bool { return t.Valid && t.Audit.Verdict != lab.AuditInvalid })
	for _, trial := range slices.Concat(counted, e.broke) {
		audit := trial.Audit
		if trial.Variant != variant {
			continue
		}
		sum.Trials++
		sum.Verdict = worse(sum.Verdict, audit.Verdict, sum.Trials == 1)
		for name, count := range audit.Counts {
			sum.Counts[name] += count
		}
		for name, value := range audit.Figures {
			figures.add(name, value)
		}
		for _, problem := range audit.Problems {
			sum.Problems = appendNew(sum.Problems, fmt.Sprintf("trial %d: %s", trial.Number, problem))
		}
		for _, line := range audit.Said {
			if len(sum.Said) < mostProblems {
				sum.Said = appendNew(sum.Said, line)
			}
		}
	}
	if more := len(sum.Problems) - mostProblems; more > 0 {
		sum.Problems = append(sum.Problems[:mostProblems], fmt.Sprintf("and %d more", more))
	}
	for name := range figures {
		sum.Figures[name] = figures.median(name)
	}
	return sum
}

// worse returns the worse of the verdict so far and the next one, or the next one if it is the first.
func worse(soFar, next lab.AuditVerdict, isFirst bool) lab.AuditVerdict {
	order := []lab.AuditVerdict{lab.AuditValid, lab.AuditUnknown, lab.AuditInvalid}
	if !slices.Contains(order, next) {
		next = lab.AuditUnknown
	}
	if isFirst || slices.Index(order, next) > slices.Index(order, soFar) {
		return next
	}
	return soFar
}

// conditions sums up the conditions on the host over all trials, whether they count or not.
func (e *experiment) conditions() lab.ConditionSummary {
	var calibration, others, meter []float64
	var sum lab.ConditionSummary
	for _, trial := range e.trials {
		c := trial.Conditions
		for _, value := range []float64{c.CalibrationBefore, c.CalibrationAfter} {
			if value > 0 {
				calibration = append(calibration, value)
			}
		}
		if _, missing := c.Unavailable["others_share"]; !missing {
			others = append(others, c.OthersShare)
		}
		if _, missing := c.Unavailable["steal_share"]; !missing {
			sum.MaxStealShare = max(sum.MaxStealShare, c.StealShare)
		}
		meter = append(meter, trial.Metered.OwnShare)
	}
	sum.CalibrationMedian = stats.Median(calibration)
	sum.MedianOthersShare = stats.Median(others)
	sum.MeterShareMedian = stats.Median(meter)
	if len(calibration) > 0 {
		sum.CalibrationSpread = (slices.Max(calibration) - slices.Min(calibration)) / sum.CalibrationMedian
	}
	if len(meter) > 0 {
		sum.MeterShareMax = slices.Max(meter)
	}
	return sum
}

// othersMatter is the smallest share of all processors with which other programs disturb a trial, and the
// smallest share of disturbed trials that the answer mentions.
const othersMatter = 0.1

// disturbedSentence returns a sentence on the trials during which other programs were busy on this host, ""
// if there were hardly any. Such trials count unless they stand out from the others. Trials of systems that
// run already are ignored, since these cannot be distinguished from other programs, and so are trials with a
// metered platform.
func (e *experiment) disturbedSentence() string {
	known := 0
	busy := 0
	most := 0.0
	for _, trial := range e.trials {
		v, found := e.study.Variant(trial.Variant)
		_, missing := trial.Conditions.Unavailable["others_share"]
		hasPlatform := trial.Platform != nil && trial.Platform.Used != nil
		if !found || missing {
			continue
		}
		if hasPlatform || v.External.RunsAlready() {
			continue
		}
		known++
		if share := trial.Conditions.OthersShare; share >= othersMatter {
			busy++
			most = max(most, share)
		}
	}
	if busy == 0 || float64(busy) < othersMatter*float64(known) {
		return ""
	}
	return fmt.Sprintf("Other programs used %s of this host's processors or more during %d of %s, and up to "+
		"%s: on an idle host the answer may be another.",
		figure.Percent(othersMatter), busy, lab.Count(known, "trial"), figure.Percent(most))
}

// measureNoise compares every twin with its original, which is the same variant under another name. If they
// differ significantly among all metrics and points, and perhaps by more than the margin, the measurements
// are biased: then verdicts on that variant need a larger difference. The width of a twin's interval does not
// matter: intervals of other comparisons contain that noise already.
func (e *experiment) measureNoise() {
	e.noise = map[string]lab.Ratio{}
	e.margins = map[string]float64{}
	e.bias = map[seriesKey]float64{}
	e.twinTests = map[string]lab.Bias{}
	for _, b := range e.testTwins() {
		if b.PHolm > 1-e.design.Confidence || b.Low == nil {
			continue
		}
		apart := max(-math.Log(*b.Low), math.Log(*b.High))
		reach := math.Expm1(apart)
		if reach <= e.design.Margin {
			continue // the margin covers it
		}
		e.biases = append(e.biases, b)
		own := seriesKey{variant: b.Variant, metric: b.Metric}
		e.bias[own] = max(e.bias[own], reach)
		e.note("%s was measured at %s of itself at %s (%s, Holm p %s over %s): something favours one of two "+
			"equal variants, and smaller differences cannot be distinguished from it.",
			b.Variant, figure.Times(b.Estimate()), b.Point, b.Metric, figure.Rounded(b.PHolm),
			lab.Count(b.Family, "such comparison"))
	}
	for _, metric := range e.study.AllMetrics() {
		e.margins[metric.Name] = e.widestGates(metric.Name).Widest()
	}
	if len(e.noise) == 0 && len(e.trials) > 0 {
		e.note("No variant ran beside its own twin: whether the laboratory is biased was not tested.")
	}
}

// testTwins tests every twin against its original in every metric at every point, with p-values adjusted for
// the family of all such tests. It sets the noise floor of each metric to the widest ratio, with its test.
func (e *experiment) testTwins() (tests []lab.Bias) {
	var p []float64
	for _, metric := range e.study.AllMetrics() {
		for _, twins := range e.twins() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, twins)
				r := c.estimate()
				isUnbounded := c.decided && r.Low == nil
				if !c.known() || isUnbounded {
					continue
				}
				own := seriesKey{variant: twins.against, metric: metric.Name}
				e.bias[own] = max(e.bias[own], 0)
				if c.decided {
					tests = append(tests, lab.Bias{Metric: metric.Name, Point: point.Name, Variant: twins.against, Ratio: r})
					p = append(p, c.ratio.P)
				}
				if before, known := e.noise[metric.Name]; !known || width(r) > width(before) {
					e.noise[metric.Name] = r
				}
			}
		}
	}
	for i, adjusted := range stats.Holm(p) {
		tests[i].PHolm = adjusted
		tests[i].Family = len(p)
		if test := tests[i]; test.Ratio == e.noise[test.Metric] { // it is the same one: its bounds are pointers
			e.twinTests[test.Metric] = test
		}
	}
	return tests
}

// width returns the upper end of an interval over the lower one, 0 without an interval.
func width(r lab.Ratio) float64 {
	if r.Low == nil {
		return 0
	}
	return *r.High / *r.Low
}

// twins returns the pairs of a twin and its original, without those that were struck out.
func (e *experiment) twins() []pair {
	var found []pair
	for _, v := range e.study.Variants {
		if v.TwinOf != "" && e.comparable(v.TwinOf) && e.comparable(v.Name) {
			found = append(found, pair{v.Name, v.TwinOf})
		}
	}
	return found
}

// gates returns the margin and the bias for a ratio of two variants. The bias is the larger one of
// those with a twin or, if neither has one, the largest of any variant: too much is safe.
func (e *experiment) gates(metric string, p pair) stats.Gates {
	bias, known := e.bias[seriesKey{variant: p.variant, metric: metric}]
	other, too := e.bias[seriesKey{variant: p.against, metric: metric}]
	if !known && !too {
		return e.widestGates(metric)
	}
	return stats.Gates{Margin: e.design.Margin, Bias: max(bias, other)}
}

// widestGates returns the margin, and the largest bias of any variant in a metric.
func (e *experiment) widestGates(metric string) stats.Gates {
	gates := stats.Gates{Margin: e.design.Margin}
	for at, bias := range e.bias {
		if at.metric == metric && figure.Finite(bias) {
			gates.Bias = max(gates.Bias, bias)
		}
	}
	return gates
}
