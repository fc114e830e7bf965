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
	tested, p, widestTest := e.testTwins()
	adjusted := stats.Holm(p)
	e.twinTests = map[string]twinTest{}
	for metric, i := range widestTest {
		e.twinTests[metric] = twinTest{p: adjusted[i], family: len(p)}
	}
	e.countBiases(tested, adjusted)
	for _, metric := range e.study.AllMetrics() {
		e.margins[metric.Name] = e.widestGates(metric.Name).Widest()
	}
	if len(e.noise) == 0 && len(e.trials) > 0 {
		e.note("No variant ran beside its own twin: whether the laboratory is biased was not tested.")
	}
	for _, b := range e.biases {
		e.note("%s was measured at %s of itself at %s (%s, Holm p %s over %s): something favours one of two "+
			"equal variants, and smaller differences are not told from it.",
			b.Variant, figure.Times(b.Estimate()), b.Point, b.Metric, figure.Number(figure.Alone(b.PHolm)),
			figure.Count(b.Family, "such comparison"))
	}
}

// testTwins compares every twin with its original at every point, each with its p-value, and
// keeps the widest of these ratios for each metric, with its index among the tested.
func (e *experiment) testTwins() (tested []lab.Bias, p []float64, widestTest map[string]int) {
	widestTest = map[string]int{}
	for _, metric := range e.study.AllMetrics() {
		widest := -1.0
		for _, twins := range e.twins() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, twins)
				width, ok := c.spread()
				if !ok {
					continue
				}
				if width > widest {
					widest = width
					e.noise[metric.Name] = c.estimate()
				}
				own := cell{variant: twins.against, metric: metric.Name}
				e.bias[own] = max(e.bias[own], 0)
				if c.decided {
					tested = append(tested, lab.Bias{Metric: metric.Name, Point: point.Name, Variant: twins.against,
						Ratio: c.estimate()})
					p = append(p, c.ratio.P)
					if width == widest {
						widestTest[metric.Name] = len(p) - 1
					}
				}
			}
		}
	}
	return tested, p, widestTest
}

// countBiases keeps the tests that exclude 1 over the whole family and may reach beyond the margin.
func (e *experiment) countBiases(tested []lab.Bias, adjusted []float64) {
	for i, p := range adjusted {
		b := tested[i]
		if p > 1-e.design.Confidence || b.Low == nil {
			continue
		}
		reach := math.Expm1(max(-math.Log(*b.Low), math.Log(*b.High)))
		if reach <= e.design.Margin {
			continue // it can move no verdict
		}
		b.PHolm, b.Family = p, len(adjusted)
		e.biases = append(e.biases, b)
		own := cell{variant: b.Variant, metric: b.Metric}
		e.bias[own] = max(e.bias[own], reach)
	}
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
