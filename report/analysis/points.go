package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// completes reports whether the system tells when an operation is really done:
// then its answer is about that, and not about when it was answered.
func (e *experiment) completes() bool {
	_, known := lab.FindMetric(e.study.Metrics, lab.CompletionTime, 0.5, "")
	return known && e.study.Load != nil
}

// commonPoint returns the highest rate that all variants held in all their trials there, of the rates at
// which most variants ran; where there is none, the lowest of these.
func (e *experiment) commonPoint() string {
	type candidate struct {
		name string
		n    int // variants that ran
		rate float64
		held bool // by all of them
	}
	var all []candidate
	for _, point := range e.study.Points {
		c := candidate{name: point.Name, held: true}
		for _, v := range e.variants() {
			trials := e.counted(v.Name, point.Name)
			if offered, open := offeredRate(point, trials); open && len(trials) > 0 {
				c.n, c.rate = c.n+1, offered
				c.held = c.held && allOf(trials, e.heldWithin)
			}
		}
		if c.n > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(x, y candidate) int {
		better := cmp.Compare(x.rate, y.rate)
		if !x.held && !y.held {
			better = -better
		}
		return cmp.Or(cmp.Compare(x.n, y.n), compareBool(x.held, y.held), better)
	}).name
}

// compareBool puts true above false.
func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// mostBehind is how many seconds' worth of accepted operations may not be done
// when the load ends.
const mostBehind = 1.0

// behind returns the share of accepted operations that were not done when the load
// ended, and whether those are more than the last second's.
func (e *experiment) behind(variant, point string) (share float64, late bool) {
	share, measured := e.mean(variant, point, e.named(lab.Unfinished, 0, ""))
	return share, measured && share*e.study.Load.Duration > mostBehind
}

// widest returns the variants but the baseline that ran at the most points.
func (e *experiment) widest() []string {
	var names []string
	most := 0
	for _, v := range e.variants() {
		n := len(e.pointsOf(v.Name))
		if v.Name == e.study.Baseline || n < most {
			continue
		}
		if n > most {
			names, most = nil, n
		}
		names = append(names, v.Name)
	}
	return names
}
