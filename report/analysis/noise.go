package analysis

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// measureNoise compares every twin with its original. So far apart did the lab
// find a variant and itself, and no verdict on that variant calls a smaller
// difference one. Of each metric the widest interval over all twins and points
// is the noise floor that is printed.
func (e *experiment) measureNoise() {
	e.noise, e.margins, e.floors = map[string]lab.Ratio{}, map[string]float64{}, map[cell]float64{}
	for _, metric := range e.study.AllMetrics() {
		widest := -1.0
		for _, p := range e.twins() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, p)
				width, ok := c.spread()
				if !ok {
					continue
				}
				if width > widest {
					widest = width
					e.noise[metric.Name] = c.estimate()
				}
				own := cell{variant: p.against, metric: metric.Name}
				e.floors[own] = max(e.floors[own], math.Expm1(width))
			}
		}
		e.margins[metric.Name] = e.widestGates(metric.Name).Widest()
	}
	if len(e.noise) == 0 && len(e.trials) > 0 {
		e.note("No variant ran beside its own twin: the noise floor is unknown, and the verdicts rest on the margin of %s alone.", figure.Percent(e.design.Margin))
	}
}

// twins are the A/A pairs: twin over original.
func (e *experiment) twins() []pair {
	var found []pair
	for _, v := range e.study.Variants {
		if v.TwinOf != "" && e.struck[v.TwinOf] == "" && e.struck[v.Name] == "" {
			found = append(found, pair{v.Name, v.TwinOf})
		}
	}
	return found
}

// gates are what a ratio of two variants is held against: the noise of those of
// the two that ran beside a twin. Where neither did, the widest that was seen:
// a short trial of another variant says too much about these two, but too much
// is safe.
func (e *experiment) gates(metric string, p pair) stats.Gates {
	floor, known := e.floors[cell{variant: p.variant, metric: metric}]
	other, too := e.floors[cell{variant: p.against, metric: metric}]
	if !known && !too {
		return e.widestGates(metric)
	}
	return stats.Gates{Margin: e.design.Margin, Floor: max(floor, other)}
}

// widestGates are the gates of the metric under the noise of all twins.
func (e *experiment) widestGates(metric string) stats.Gates {
	gates := stats.Gates{Margin: e.design.Margin}
	if r := e.noise[metric]; r.Low != nil && r.High != nil {
		gates.Floor = math.Expm1((math.Log(*r.High) - math.Log(*r.Low)) / 2)
	}
	if !finite(gates.Floor) {
		gates.Floor = 0
	}
	return gates
}

// spread orders A/A comparisons: the half-width of the interval on the log
// scale, or 0 where one block gives none. It is false without any block.
func (c contrast) spread() (float64, bool) {
	if c.n() == 0 {
		return 0, false
	}
	if !c.decided {
		return 0, true
	}
	half := (math.Log(c.ratio.High) - math.Log(c.ratio.Low)) / 2
	return half, finite(half)
}
