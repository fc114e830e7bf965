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

// Audit implements lab.System. A load that the generator did not achieve says nothing of
// the system: such a trial is unknown. One that the system did not hold is a result. A
// system none of whose answers was right is invalid.
func (s System) Audit(_ lab.Variant, p lab.Point, reports []lab.UnitReport) lab.Audit {
	r, err := s.base().Report(reports)
	if err != nil {
		return loaded.Unknown(err)
	}
	audit := lab.Audit{Verdict: lab.AuditValid, Counts: counts(r), Figures: map[string]float64{}}
	if _, counted := p.Level(Operations); counted {
		audit.Counts["not right"] = r.Sent - r.OK
	} else {
		audit.Figures[lab.FigureObjective] = 1
		if len(r.Missed) > 0 {
			audit.Figures[lab.FigureObjective] = 0
		}
		const several = 1.05 // what a flow of one operation cannot come to by rounding
		if begun := r.Achieved * r.Duration; begun > 0 && float64(r.Sent) > several*begun {
			audit.Figures[lab.FigureFlow] = float64(r.Sent) / begun
		}
	}
	audit = s.base().With(audit, "system", p, r)
	if loaded.Searches(p) {
		return audit // probes beyond the capacity are part of a search
	}
	if r.Sent == 0 {
		judge(&audit, lab.AuditUnknown, "no operation was sent")
	}
	if r.Sent > 0 && r.OK == 0 {
		judge(&audit, lab.AuditInvalid,
			fmt.Sprintf("none of %d operations succeeded: %s", r.Sent, errorWords(r.Errors)))
		audit.Problems = append(audit.Problems, r.Remarks...)
	}
	return audit
}

func counts(r lab.LoadReport) map[string]int64 {
	all := map[string]int64{"sent": r.Sent, "ok": r.OK, "unsent": r.Unsent}
	for kind, n := range r.Errors {
		all["error: "+kind] = n
	}
	return all
}

func errorWords(errors map[string]int64) string {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		words = append(words, fmt.Sprintf("%d %s", errors[kind], kind))
	}
	return strings.Join(words, ", ")
}

// Metrics returns what trials at these points are compared in, the headline first. An
// open loop offers the same to all systems, so its headline is the response time;
// a closed loop's is how much they get done; a search has the capacity only.
func Metrics(points []lab.Point) []lab.Metric {
	var open, closed, search bool
	for _, p := range points {
		_, users := p.Level(Users)
		_, from := p.Level(SearchFrom)
		closed, search = closed || users, search || from
		open = open || !users && !from // a scenario's own load counts as one
	}
	return metrics(open, closed, search)
}

// metrics returns the metrics of these kinds of points.
func metrics(open, closed, search bool) []lab.Metric {
	words := loaded.Words{Operations: "operations", Flows: "flows", Cost: "the system", Per: "operation",
		Response: "response time"}
	p99, goodput := words.ResponseTimes(0.99)[0], words.Goodput()
	var all, last []lab.Metric
	switch {
	case open:
		all, last = append(all, p99), append(last, goodput)
	case closed:
		all, last = append(all, goodput), append(last, p99)
	}
	if search {
		all = append(all, words.Capacity())
	}
	if !open && !closed {
		return all
	}
	memory := words.PeakMemory()
	memory.Name, memory.Title = peakMemory, "peak memory of the system"
	all = append(append(append(all, words.CPU()), words.ResponseTimes(0.5, 0)...), last...)
	all = append(append(all, memory), words.ResponseTimes(0.9, 0.95, 0.999, 1)...)
	return append(append(all, words.Errors()), loaded.ClientMetrics()...)
}

// peakMemory is not called peak_memory, which is that of all units.
const peakMemory = "system_peak_memory"

// Measure implements lab.Measurer. The generator's own use is left out.
func (s System) Measure(
	_ context.Context, _ lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, r, err := s.base().Measure(Metrics([]lab.Point{p}), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	own := maps.Clone(metered.Roles)
	delete(own, lab.RoleGenerator)
	told := func(quantity string) bool { // by all units of the system
		for _, used := range own {
			if _, missing := used.Unavailable[quantity]; missing {
				return false
			}
		}
		return len(own) > 0 // else it runs somewhere else
	}
	used := metered.Used()
	if told("cpu_seconds") && r.Sent > 0 {
		found.Values[loaded.CPUPerOperation] = used.CPUSeconds / float64(r.Sent)
	}
	if told("peak_memory_bytes") {
		found.Values[peakMemory] = float64(used.PeakMemoryBytes)
	}
	return found, nil
}
