package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// judged is a ratio with its verdict: of two variants, or of the first and the last variant of steps.
type judged struct {
	metric            lab.Metric
	point             string
	variant, baseline string
	ratio             lab.Ratio
	verdict           lab.ComparisonVerdict
}

// effect returns the size of a difference, the same for 2x and 0.5x; 0 of what is not decided.
func (j judged) effect() float64 {
	if !j.verdict.Differs() || j.ratio.Ratio <= 0 {
		return 0
	}
	return math.Abs(math.Log(j.ratio.Ratio))
}

// subject holds the subject of the answer: the variants, where they are compared, and in which
// metrics, the first of which is the headline's.
type subject struct {
	baseline, point string
	variants        []string // that the sentence names, without the baseline
	compared        []string // all of them, without the baseline
	metrics         []lab.Metric
	ratios          []judged // of these variants, there
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

// chooseSubject looks for a difference where the variants stand side by side, and elsewhere
// only where there is none: at the point of the largest one.
func (e *experiment) chooseSubject(all []judged, baseline, point string, variants []string) subject {
	s := subject{baseline: baseline, point: point, variants: variants, compared: variants}
	s.ratios = s.near(all)
	if !slices.ContainsFunc(s.ratios, func(j judged) bool { return j.verdict.Differs() }) && len(all) > 0 {
		largest := slices.MaxFunc(all, func(x, y judged) int { return cmp.Compare(x.effect(), y.effect()) })
		if largest.verdict.Differs() {
			s.point = largest.point
			if largest.baseline != baseline || !slices.Contains(variants, largest.variant) {
				s.baseline, s.variants = largest.baseline, []string{largest.variant}
				s.compared = s.variants
			}
			s.ratios = s.near(all)
		}
	}
	s.metrics = e.sentenceMetrics(s.ratios)
	return s
}

// near returns the ratios of the subject's variants at its point, and capacities, which have a point of
// their own.
func (s subject) near(all []judged) []judged {
	var kept []judged
	for _, j := range all {
		if j.baseline == s.baseline && slices.Contains(s.variants, j.variant) &&
			(j.point == s.point || j.metric.Quantity == lab.Capacity) {
			kept = append(kept, j)
		}
	}
	return kept
}

// sentenceMetrics returns the metrics of a sentence: the main ones, the largest difference first,
// then the equivalent and the undecided. Where no main metric differs, those that differ most
// come first.
func (e *experiment) sentenceMetrics(ratios []judged) []lab.Metric {
	effects, known := map[string]float64{}, map[string]bool{}
	for _, j := range ratios {
		effects[j.metric.Name] = max(effects[j.metric.Name], j.effect())
		known[j.metric.Name] = known[j.metric.Name] || j.verdict != lab.Undecided
	}
	largestFirst := func(x, y lab.Metric) int { return cmp.Compare(effects[y.Name], effects[x.Name]) }
	chosen := e.mainMetrics(effects, known)
	if !slices.ContainsFunc(chosen, func(m lab.Metric) bool { return effects[m.Name] > 0 }) {
		const most = 2
		others := slices.DeleteFunc(slices.Clone(e.study.AllMetrics()),
			func(m lab.Metric) bool { return effects[m.Name] == 0 })
		slices.SortStableFunc(others, largestFirst)
		chosen = append(others[:min(most, len(others))], chosen...)
	}
	chosen = slices.DeleteFunc(chosen, func(m lab.Metric) bool {
		_, measured := effects[m.Name]
		return !measured
	})
	slices.SortStableFunc(chosen, func(x, y lab.Metric) int {
		return cmp.Or(largestFirst(x, y), compareBool(known[y.Name], known[x.Name]))
	})
	return chosen
}

// mainMetrics returns what a user asks for: how long an operation takes, what it costs in CPU, and
// how many there can be. The time is the median of the time to completion, or another one
// where only that is decided.
func (e *experiment) mainMetrics(effects map[string]float64, known map[string]bool) []lab.Metric {
	all := e.study.AllMetrics()
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
	var once []lab.Metric
	for _, m := range chosen {
		if !isAmong(once, m.Name) {
			once = append(once, m)
		}
	}
	return once
}

// comparedRatios returns the comparisons of the study, struck-out variants and twins left out.
func (e *experiment) comparedRatios(a lab.Analysis) []judged {
	var all []judged
	for _, c := range a.Comparisons {
		m, _ := e.metric(c.Metric)
		all = append(all, judged{m, c.Point.Name, c.Variant, c.Baseline, c.Ratio, c.Verdict})
	}
	return all
}

// waterfallRatios returns the ratios of the last variant to the first.
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

// variantBars compares all variants with the baseline in the first metric of the subject, or
// where there is one such variant, that one in all metrics that a user asks for.
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

// metricBars compares one variant with the baseline: in the told metrics, then in the other
// times, costs and rates of the study.
func (e *experiment) metricBars(s subject, variant string) *lab.Headline {
	for _, m := range e.study.AllMetrics() {
		usual := m.Kind == lab.KindCost || m.Kind == lab.KindMemory || m.Kind == lab.KindRate ||
			m.Kind == lab.KindTime && (m.Quantile == 0 || m.Quantile == 0.5 || m.Quantile == 0.99)
		if usual && !isAmong(s.metrics, m.Name) {
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

// bar returns a ratio of a headline that begins at 1.
func (j judged) bar(label string) lab.Bar {
	return lab.Bar{Label: label, Metric: j.metric.Name, Point: j.point, Variant: j.variant, Baseline: j.baseline,
		Begin: 1, Ratio: j.ratio, Verdict: j.verdict}
}

// unitBars show what more of each unit gave.
func (e *experiment) unitBars(b lab.Bottleneck) *lab.Headline {
	m, _ := e.metric(b.Metric)
	h := lab.Headline{Baseline: b.Variant,
		Title: fmt.Sprintf("%s%s, compared with %s", m.Title, e.placeOf(m, b.Point.Name), b.Variant)}
	for _, d := range b.Doubled[:min(mostBars, len(b.Doubled))] {
		j := judged{m, b.Point.Name, d.Variant, b.Variant, d.Ratio, d.Verdict}
		h.Bars = append(h.Bars, j.bar(fmt.Sprintf("%d x %s", d.Replicas, d.Unit)))
	}
	return &h
}

// stepBars show the steps of a waterfall.
func (e *experiment) stepBars(w lab.Waterfall) *lab.Headline {
	m, _ := e.metric(w.Metric)
	h := w.Chart(fmt.Sprintf("%s%s; each step begins where the one before ended", m.Title,
		e.placeOf(m, w.Point.Name)))
	return &h
}

// placeOf says behind a metric where it was measured: " at 80 orders/s"; of a capacity,
// which has no rate of its own, nothing.
func (e *experiment) placeOf(m lab.Metric, point string) string {
	if m.Quantity == lab.Capacity {
		return ""
	}
	return " " + e.plainPlace(point)
}
