package analysis

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// measureNoise compares every twin with its original. The two are one variant under
// two names: where they are found to differ all the same, over all metrics and points
// together, and by what may exceed the margin, the laboratory is biased, and no
// verdict on that variant calls a smaller difference one. How wide a twin's interval is says nothing on
// others: their own intervals hold that noise already.
func (e *experiment) measureNoise() {
	e.noise, e.margins, e.bias = map[string]lab.Ratio{}, map[string]float64{}, map[cell]float64{}
	e.twinTests = map[string]twinTest{}
	for _, b := range e.testTwins() {
		if b.PHolm > 1-e.design.Confidence || b.Low == nil {
			continue
		}
		reach := math.Expm1(max(-math.Log(*b.Low), math.Log(*b.High)))
		if reach <= e.design.Margin {
			continue // it can move no verdict
		}
		e.biases = append(e.biases, b)
		own := cell{variant: b.Variant, metric: b.Metric}
		e.bias[own] = max(e.bias[own], reach)
		e.note("%s was measured at %s of itself at %s (%s, Holm p %s over %s): something favours one of two "+
			"equal variants, and smaller differences are not told from it.",
			b.Variant, figure.Times(b.Estimate()), b.Point, b.Metric, figure.Number(figure.Alone(b.PHolm)),
			figure.Count(b.Family, "such comparison"))
	}
	for _, metric := range e.study.AllMetrics() {
		e.margins[metric.Name] = e.widestGates(metric.Name).Widest()
	}
	if len(e.noise) == 0 && len(e.trials) > 0 {
		e.note("No variant ran beside its own twin: whether the laboratory is biased was not tested.")
	}
}

// testTwins tests every twin against its original at every point, with p-values for the family of all such
// tests. It keeps the widest ratio of each metric, and its test.
func (e *experiment) testTwins() (tests []lab.Bias) {
	var p []float64
	widest, itsTest := map[string]float64{}, map[string]int{}
	for _, metric := range e.study.AllMetrics() {
		for _, twins := range e.twins() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, twins)
				width, ok := c.spread()
				if !ok {
					continue
				}
				own := cell{variant: twins.against, metric: metric.Name}
				e.bias[own] = max(e.bias[own], 0)
				if before, known := widest[metric.Name]; !known || width > before {
					widest[metric.Name], e.noise[metric.Name] = width, c.estimate()
					itsTest[metric.Name] = len(tests)
				}
				if c.decided {
					tests = append(tests, lab.Bias{Metric: metric.Name, Point: point.Name, Variant: twins.against,
						Ratio: c.estimate()})
					p = append(p, c.ratio.P)
				}
			}
		}
	}
	for i, adjusted := range stats.Holm(p) {
		tests[i].PHolm, tests[i].Family = adjusted, len(p)
	}
	for metric, i := range itsTest {
		if i < len(tests) && tests[i].Metric == metric {
			e.twinTests[metric] = twinTest{p: tests[i].PHolm, family: len(p)}
		}
	}
	return tests
}

// twinTest is the test of a twin against its original for a bias: its p-value, adjusted over
// the family of all such tests.
type twinTest struct {
	p      float64
	family int
}

// twins returns the A/A pairs: twin over original.
func (e *experiment) twins() []pair {
	var found []pair
	for _, v := range e.study.Variants {
		if v.TwinOf != "" && e.struck[v.TwinOf] == "" && e.struck[v.Name] == "" {
			found = append(found, pair{v.Name, v.TwinOf})
		}
	}
	return found
}

// gates returns what a ratio of two variants is held against: the bias of those of the
// two that ran beside a twin. Where neither did, the largest that was found: too
// much is safe.
func (e *experiment) gates(metric string, p pair) stats.Gates {
	bias, known := e.bias[cell{variant: p.variant, metric: metric}]
	other, too := e.bias[cell{variant: p.against, metric: metric}]
	if !known && !too {
		return e.widestGates(metric)
	}
	return stats.Gates{Margin: e.design.Margin, Bias: max(bias, other)}
}

// widestGates returns the gates of the metric under the largest bias of any variant.
func (e *experiment) widestGates(metric string) stats.Gates {
	gates := stats.Gates{Margin: e.design.Margin}
	for at, bias := range e.bias {
		if at.metric == metric && figure.Finite(bias) {
			gates.Bias = max(gates.Bias, bias)
		}
	}
	return gates
}

// spread orders A/A comparisons: the half-width of the interval on the log
// scale, or 0 where one block gives none. It is false without any block.
func (c contrast) spread() (float64, bool) {
	if !c.known() {
		return 0, false
	}
	if !c.decided {
		return 0, true
	}
	half := (math.Log(c.ratio.High) - math.Log(c.ratio.Low)) / 2
	return half, figure.Finite(half)
}

// fewBlocks reports whether a twin's interval is too wide to say anything: it spans a factor
// of ten or more.
func fewBlocks(r lab.Ratio) bool {
	const wide = 10
	return r.Low == nil || r.High == nil || *r.High > wide**r.Low
}
