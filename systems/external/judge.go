package external

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Audit implements lab.System. A trial is unknown if its generator did not achieve the load, which tells
// nothing about the system. It is invalid if no operation succeeded. If the system could not handle the load,
// that is a result.
func (s System) Audit(_ lab.Variant, p lab.Point, reports []lab.UnitReport) lab.Audit {
	r, err := s.base().Report(reports)
	if err != nil {
		return loaded.Unknown(err)
	}
	audit := lab.Audit{Verdict: lab.AuditValid, Figures: map[string]float64{},
		Counts: map[string]int64{"sent": r.Sent, "ok": r.OK, "unsent": r.Unsent}}
	for kind, n := range r.Errors {
		audit.Counts["error: "+kind] = n
	}
	if _, counted := p.Level(Operations); counted {
		audit.Counts["not right"] = r.Sent - r.OK
	} else {
		audit.Figures[lab.FigureObjective] = 1
		if len(r.Missed) > 0 {
			audit.Figures[lab.FigureObjective] = 0
		}
		const several = 1.05 // more than rounding makes of one operation per flow
		if begun := r.Achieved * r.Duration; begun > 0 && float64(r.Sent) > several*begun {
			audit.Figures[lab.FigureFlow] = float64(r.Sent) / begun
		}
	}
	audit = s.base().With(audit, "system", p, r)
	if loaded.Searches(p) {
		return audit // a search also offers more than the capacity
	}
	if r.Sent == 0 {
		judge(&audit, lab.AuditUnknown, "no operation was sent")
	}
	if r.Sent > 0 && r.OK == 0 {
		var failures []string
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			failures = append(failures, fmt.Sprintf("%d %s", r.Errors[kind], kind))
		}
		judge(&audit, lab.AuditInvalid,
			fmt.Sprintf("none of %d operations succeeded: %s", r.Sent, strings.Join(failures, ", ")))
		audit.Problems = append(audit.Problems, r.Remarks...)
	}
	return audit
}

// Metrics returns the metrics for trials at these points, the headline first: the response time for open
// loops, which offer all systems the same load, and the goodput for closed loops. A search has only the
// capacity.
func Metrics(points []lab.Point) []lab.Metric {
	var open, closed, search bool
	for _, p := range points {
		_, hasUsers := p.Level(lab.FactorUsers)
		_, isSearch := p.Level(lab.FactorSearchFrom)
		isOpen := !hasUsers && !isSearch // such as a point of a scenario
		closed = closed || hasUsers
		search = search || isSearch
		open = open || isOpen
	}
	return metrics(open, closed, search)
}

// metrics returns the metrics for these kinds of load.
func metrics(open, closed, search bool) []lab.Metric {
	words := loaded.Words{Operations: "operations", Flows: "flows", Cost: "the system", Per: "operation",
		Response: "response time"}
	p99 := words.ResponseTimes(0.99)[0]
	goodput := words.Goodput()
	var all, last []lab.Metric
	switch {
	case open:
		all = append(all, p99)
		last = append(last, goodput)
	case closed:
		all = append(all, goodput)
		last = append(last, p99)
	}
	if search {
		all = append(all, words.Capacity())
	}
	if !open && !closed {
		return all
	}
	memory := words.PeakMemory()
	memory.Name = peakMemory
	memory.Title = "peak memory of the system"
	all = slices.Concat(all, []lab.Metric{words.CPU()}, words.ResponseTimes(0.5, 0), last)
	all = slices.Concat(all, []lab.Metric{memory}, words.ResponseTimes(0.9, 0.95, 0.999, 1))
	return slices.Concat(all, []lab.Metric{words.Errors()}, loaded.ClientMetrics())
}

// peakMemory names the metric of the system's memory. It is not called peak_memory, which includes the
// generator.
const peakMemory = "system_peak_memory"

// Measure implements lab.Measurer. CPU time and memory are those of the system without the generator.
func (s System) Measure(
	_ context.Context, _ lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, r, err := s.base().Measure(Metrics([]lab.Point{p}), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	used := metered.Used()
	if used.Units == 0 { // the system runs already
		return found, nil
	}
	if !used.Lacks("cpu_seconds") && r.Sent > 0 {
		found.Values[loaded.CPUPerOperation] = used.CPUSeconds / float64(r.Sent)
	}
	if !used.Lacks("peak_memory_bytes") {
		found.Values[peakMemory] = float64(used.PeakMemoryBytes)
	}
	return found, nil
}
