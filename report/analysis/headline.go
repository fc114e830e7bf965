package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// judged is a ratio of two variants with its verdict.
type judged struct {
	metric            lab.Metric
	point             string
	variant, baseline string
	ratio             lab.Ratio
	verdict           lab.ComparisonVerdict
}

// effect returns the size of a difference on the log scale, the same for 2x and 0.5x, or 0 if it is not
// decided.
func (j judged) effect() float64 {
	if !j.verdict.Differs() || j.ratio.Ratio <= 0 {
		return 0
	}
	return fromOne(j.ratio.Ratio)
}

// fromOne returns the distance of a ratio from 1 on the log scale, the same for 2x and 0.5x.
func fromOne(ratio float64) float64 { return math.Abs(math.Log(ratio)) }

// subject is the subject of the answer: variants that are compared at a point.
type subject struct {
	baseline, point string
	variants        []string     // that the sentence names, without the baseline
	compared        []string     // all variants, without the baseline
	metrics         []lab.Metric // of the sentence; the first is that of the headline
	ratios          []judged     // of the variants at the point, and their capacities
}

// of returns the ratios of a variant in the metrics of the subject, in their order.
func (s subject) of(variant string) []judged {
	var found []judged
	for _, m := range s.metrics {
		i := slices.IndexFunc(s.ratios, func(j judged) bool {
			return j.variant == variant && j.metric.Name == m.Name
		})
		if i >= 0 {
			found = append(found, s.ratios[i])
		}
	}
	return found
}

// chooseSubject returns the variants at the point as the subject. If none of them differ there, it
// returns the pair and point of the largest difference, if there is any.
func (e *experiment) chooseSubject(all []judged, baseline, point string, variants []string) subject {
	s := subject{baseline: baseline, point: point, variants: variants, compared: variants}
	s.ratios = s.near(all)
	somethingDiffers := slices.ContainsFunc(s.ratios, func(j judged) bool { return j.verdict.Differs() })
	if len(all) > 0 && !somethingDiffers {
		largest := slices.MaxFunc(all, func(x, y judged) int { return cmp.Compare(x.effect(), y.effect()) })
		if largest.verdict.Differs() {
			s.point = largest.point
			if largest.baseline != baseline || !slices.Contains(variants, largest.variant) {
				s.baseline = largest.baseline
				s.variants = []string{largest.variant}
				s.compared = s.variants
			}
			s.ratios = s.near(all)
		}
	}
	s.metrics = e.sentenceMetrics(s.ratios)
	return s
}

// isAt reports whether a metric at a point belongs to the subject: it is at its point, or a capacity, which
// is measured at another one.
func (s subject) isAt(m lab.Metric, point string) bool {
	return point == s.point || m.Quantity == lab.Capacity
}

// near returns the ratios of the subject's variants at its point, and their capacities.
func (s subject) near(all []judged) []judged {
	var kept []judged
	for _, j := range all {
		isOfPair := j.baseline == s.baseline && slices.Contains(s.variants, j.variant)
		if isOfPair && s.isAt(j.metric, j.point) {
			kept = append(kept, j)
		}
	}
	return kept
}

// sentenceMetrics returns the metrics of a sentence, of those that the ratios are about: the main ones, the
// largest difference first, then the equivalent and the undecided. If no main metric differs, the two that
// differ most are added in front. There is at least one if there are ratios.
func (e *experiment) sentenceMetrics(ratios []judged) []lab.Metric {
	effects := map[string]float64{} // by metric
	known := map[string]bool{}      // by metric: it is decided in some ratio
	for _, j := range ratios {
		effects[j.metric.Name] = max(effects[j.metric.Name], j.effect())
		known[j.metric.Name] = known[j.metric.Name] || j.verdict != lab.Undecided
	}
	measured := filter(e.study.AllMetrics(), func(m lab.Metric) bool {
		_, has := effects[m.Name]
		return has
	})
	if len(measured) == 0 {
		return nil
	}
	largestFirst := func(x, y lab.Metric) int { return cmp.Compare(effects[y.Name], effects[x.Name]) }
	chosen := mainMetrics(measured, effects, known)
	if !slices.ContainsFunc(chosen, func(m lab.Metric) bool { return effects[m.Name] > 0 }) {
		const most = 2
		others := slices.DeleteFunc(measured, func(m lab.Metric) bool { return effects[m.Name] == 0 })
		slices.SortStableFunc(others, largestFirst)
		chosen = append(others[:min(most, len(others))], chosen...)
	}
	slices.SortStableFunc(chosen, func(x, y lab.Metric) int {
		return cmp.Or(largestFirst(x, y), compareBool(known[y.Name], known[x.Name]))
	})
	return chosen
}

// mainMetrics returns the metrics of most interest among all: the time, the CPU and the highest rate of
// operations, and the first of all. The time is the median time to completion, or another time if only that
// differs or is decided.
func mainMetrics(all []lab.Metric, effects map[string]float64, known map[string]bool) []lab.Metric {
	var times, chosen []lab.Metric
	add := func(list *[]lab.Metric, quantity string, quantile float64, per string) {
		if m, found := lab.FindMetric(all, quantity, quantile, per); found {
			*list = append(*list, m)
		}
	}
	add(&times, lab.CompletionTime, 0.5, "")
	add(&times, lab.Elapsed, 0, lab.PerOperation)
	if all[0].Kind == lab.KindTime {
		times = append(times, all[0])
	} else {
		chosen = append(chosen, all[0])
	}
	for _, quantile := range []float64{0.5, 0.99} {
		add(&times, lab.ResponseTime, quantile, "")
	}
	if len(times) > 0 {
		chosen = append(chosen, slices.MaxFunc(times, func(x, y lab.Metric) int {
			return cmp.Or(compareBool(effects[x.Name] > 0, effects[y.Name] > 0),
				compareBool(known[x.Name], known[y.Name]))
		}))
	}
	add(&chosen, lab.CPU, 0, lab.PerOperation)
	add(&chosen, lab.Capacity, 0, "")
	var distinct []lab.Metric
	for _, m := range chosen {
		if !isAmong(distinct, m.Name) {
			distinct = append(distinct, m)
		}
	}
	return distinct
}

// comparedRatios returns the ratios of all comparisons of the study.
func (e *experiment) comparedRatios(a lab.Analysis) []judged {
	var all []judged
	for _, c := range a.Comparisons {
		m, _ := e.metric(c.Metric)
		all = append(all, judged{m, c.Point.Name, c.Variant, c.Baseline, c.Ratio, c.Verdict})
	}
	return all
}

// waterfallRatios returns the ratios of the last variant to the first, one per waterfall.
func (e *experiment) waterfallRatios(all []lab.Waterfall) []judged {
	var found []judged
	for _, w := range all {
		m, _ := e.metric(w.Metric)
		found = append(found, judged{m, w.Point.Name, w.To, w.From, w.Whole, w.Verdict})
	}
	return found
}

// mostBars is the largest number of bars in a headline: a screen has to hold them and the answer.
const mostBars = 12

// variantBars returns the bars of all variants in the first metric of the subject. If there is only
// one variant, it returns its bars in the usual metrics.
func (e *experiment) variantBars(s subject, all []judged) *lab.Headline {
	if len(s.metrics) == 0 {
		return nil
	}
	first := s.metrics[0]
	var found []judged
	for _, v := range e.variants() {
		s.variants = appendNew(s.variants, v.Name)
	}
	for _, j := range s.near(all) {
		if j.metric.Name == first.Name && len(found) < mostBars {
			found = append(found, j)
		}
	}
	if len(found) == 1 {
		return e.metricBars(s, found[0].variant)
	}
	h := lab.Headline{Baseline: s.baseline, Title: fmt.Sprintf("%s%s, compared with %s", first.Title,
		e.placeOf(first, s.point), s.baseline)}
	for _, j := range found {
		h.Bars = append(h.Bars, j.bar(j.variant))
	}
	return &h
}

// isUsual reports whether a metric is the mean, the median or the 99th percentile of a time, a cost, memory
// or a rate.
func isUsual(m lab.Metric) bool {
	switch m.Kind {
	case lab.KindTime:
		return slices.Contains([]float64{0, 0.5, 0.99}, m.Quantile)
	case lab.KindCost, lab.KindMemory, lab.KindRate:
		return true
	}
	return false
}

// metricBars returns the bars of one variant: in the metrics of the subject, then in the other usual ones.
func (e *experiment) metricBars(s subject, variant string) *lab.Headline {
	for _, m := range e.study.AllMetrics() {
		if isUsual(m) && !isAmong(s.metrics, m.Name) {
			s.metrics = append(s.metrics, m)
		}
	}
	h := lab.Headline{Baseline: s.baseline,
		Title: fmt.Sprintf("compared with %s %s: %s", s.baseline, e.plainPlace(s.point), variant)}
	for _, j := range s.of(variant) {
		if len(h.Bars) < mostBars {
			h.Bars = append(h.Bars, j.bar(j.metric.Title))
		}
	}
	return &h
}

// bar returns the ratio as a bar that begins at 1.
func (j judged) bar(label string) lab.Bar {
	return lab.Bar{Label: label, Metric: j.metric.Name, Point: j.point, Variant: j.variant, Baseline: j.baseline,
		Begin: 1, Ratio: j.ratio, Verdict: j.verdict}
}

// unitBars returns the bars of scaled units.
func (e *experiment) unitBars(b lab.Bottleneck) *lab.Headline {
	m, _ := e.metric(b.Metric)
	h := lab.Headline{Baseline: b.Variant,
		Title: fmt.Sprintf("%s%s, compared with %s", m.Title, e.placeOf(m, b.Point.Name), b.Variant)}
	for _, d := range b.Doubled[:min(mostBars, len(b.Doubled))] {
		j := judged{m, b.Point.Name, d.Variant, b.Variant, d.Ratio, d.Verdict}
		h.Bars = append(h.Bars, j.bar(scaledText(d)))
	}
	return &h
}

// stepBars returns the bars of the steps of a waterfall.
func (e *experiment) stepBars(w lab.Waterfall) *lab.Headline {
	m, _ := e.metric(w.Metric)
	h := w.Chart(fmt.Sprintf("%s%s; each step begins where the one before ended", m.Title,
		e.placeOf(m, w.Point.Name)))
	return &h
}

// placeOf returns a point as the text behind a metric: " at 80 orders/s", or "" for a capacity, which belongs
// to no rate.
func (e *experiment) placeOf(m lab.Metric, point string) string {
	if m.Quantity == lab.Capacity {
		return ""
	}
	return " " + e.plainPlace(point)
}
