package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// ladder orders the variants by what an operation costs in CPU time, dearest
// first, at the first of the points where most variants ran.
func (e *experiment) ladder() []lab.Rung {
	rungs := []lab.Rung{}
	point := e.fullestPoint()
	cpuEach, elapsedEach := e.named(lab.CPU, 0, lab.PerOperation), e.named(lab.Elapsed, 0, lab.PerOperation)
	for _, v := range e.variants() {
		cpu, measured := e.mean(v.Name, point, cpuEach)
		elapsed, ran := e.mean(v.Name, point, elapsedEach)
		if !measured || !ran {
			continue
		}
		rungs = append(rungs, lab.Rung{Variant: v.Name, Point: point, Summary: v.Summary, CPU: cpu,
			Elapsed: elapsed})
	}
	slices.SortStableFunc(rungs, func(a, b lab.Rung) int { return cmp.Compare(b.CPU, a.CPU) })
	for i := range rungs {
		rungs[i].ToBaseline = e.rungRatio(point, rungs[i].Variant, e.study.Baseline)
		if i+1 < len(rungs) {
			rungs[i].ToNext = e.rungRatio(point, rungs[i].Variant, rungs[i+1].Variant)
		}
	}
	return rungs
}

// rungRatio compares CPU per operation; nil with itself, with a variant that
// was struck out, and where nothing tells the ratio.
func (e *experiment) rungRatio(point, variant, against string) *lab.Ratio {
	if variant == against || !e.comparable(against) {
		return nil
	}
	c := e.contrast(e.named(lab.CPU, 0, lab.PerOperation), point, pair{variant, against})
	if !c.known() {
		return nil
	}
	r := c.estimate()
	return &r
}

// fullestPoint is the first point at which most variants ran.
func (e *experiment) fullestPoint() string {
	best, most := "", 0
	for _, point := range e.study.Points {
		count := 0
		for _, v := range e.variants() {
			if e.ran(v.Name, point.Name) {
				count++
			}
		}
		if count > most {
			best, most = point.Name, count
		}
	}
	return best
}
