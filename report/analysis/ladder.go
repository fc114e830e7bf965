package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// Metrics of a job that sentences are about.
const (
	jobElapsed          = "elapsed"
	jobCPU              = "cpu"
	cpuPerOperation     = "cpu_per_operation"
	elapsedPerOperation = "elapsed_per_operation"
)

// ladder orders the variants by what an operation costs in CPU time, dearest
// first, at the first of the points where most variants ran.
func (e *experiment) ladder() []lab.Rung {
	rungs := []lab.Rung{}
	point := e.fullestPoint()
	for _, v := range e.variants() {
		cpu, measured := e.mean(v.Name, point, cpuPerOperation)
		elapsed, ran := e.mean(v.Name, point, elapsedPerOperation)
		if !measured || !ran {
			continue
		}
		rungs = append(rungs, lab.Rung{Variant: v.Name, Point: point, Summary: v.Summary, CPU: cpu, Elapsed: elapsed})
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
// was struck out, and without a common block.
func (e *experiment) rungRatio(point, variant, against string) *lab.Ratio {
	if variant == against || !e.comparable(against) {
		return nil
	}
	c := e.contrast(cpuPerOperation, point, pair{variant, against})
	if c.n() == 0 {
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
