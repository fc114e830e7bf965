package analysis

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// measureNoise compares every twin with its original. Of each metric the
// widest interval over all points is the noise floor: so far apart did the lab
// find a variant and itself. No verdict calls a smaller difference one.
func (e *experiment) measureNoise() {
	e.noise, e.margins = map[string]lab.Ratio{}, map[string]float64{}
	for _, metric := range lab.Metrics() {
		widest := -1.0
		for _, p := range e.twins() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, p)
				if width, ok := c.spread(); ok && width > widest {
					widest = width
					e.noise[metric.Name] = c.estimate()
				}
			}
		}
		e.margins[metric.Name] = e.gates(metric.Name).Widest()
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

// gates are what a ratio of the metric is held against.
func (e *experiment) gates(metric string) stats.Gates {
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
