package analysis

import (
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/lab"
)

// withholdClaim takes back a verdict on a claim that hangs on how long warm-up and trials
// lasted: one that is another where what was measured is off by the whole change, either
// way.
func (e *experiment) withholdClaim(j *lab.Judgement, c claim, test func(*lab.Judgement, claim)) {
	metrics := []lab.Metric{}
	for _, name := range []string{c.Metric, c.AgainstMetric} {
		if m, known := e.metric(name); known && (name == c.Metric || c.test.Against) {
			metrics = append(metrics, m)
		}
	}
	p := c.pair()
	if !c.test.Against {
		p.against = p.variant
	}
	up, down, short := map[string]float64{}, map[string]float64{}, ""
	for _, point := range c.points {
		ratio := contrast{}
		if c.test.Against {
			ratio = e.contrastOf(c.Metric, c.AgainstMetric, point, p)
		}
		for _, m := range metrics {
			factor, words, full := e.disturbance(m, point, p, ratio)
			if full == "" || factor <= up[point] {
				continue
			}
			if up[point], down[point] = factor, 1/factor; short == "" {
				short, j.Unsteady = words+" at "+point, full
			}
		}
	}
	if j.Unsteady == "" || j.Verdict != lab.ClaimSupported && j.Verdict != lab.ClaimContradicted {
		return
	}
	turned := c.test.Exponent // by points that are off differently
	for _, off := range []map[string]float64{up, down} {
		other := *j
		c.off = off
		test(&other, c)
		turned = turned || other.Verdict != j.Verdict
	}
	if turned {
		j.Verdict, j.Reason = lab.ClaimUndecided, fmt.Sprintf("withheld: %s; as measured, %s", short, j.Reason)
		return
	}
	j.Reason += fmt.Sprintf("; %s, which could not turn it", short)
}

// offAt returns the factor by which what is measured at a point may be off.
func (c claim) offAt(point string) float64 {
	if off, set := c.off[point]; set {
		return off
	}
	return 1
}

// farthestOff returns the one of all points that is farthest from 1.
func (c claim) farthestOff() float64 {
	farthest := 1.0
	for _, point := range c.points {
		if off := c.offAt(point); math.Abs(math.Log(off)) > math.Abs(math.Log(farthest)) {
			farthest = off
		}
	}
	return farthest
}
