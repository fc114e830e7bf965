package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// TracesSchema is the version of the document.
const TracesSchema = "cleave.traces/1"

// traceConfidence is that of the intervals of two sets of traces.
const traceConfidence = 0.95

// TraceBatches is into how many parts the traces of an operation are cut. Neighbouring operations share their
// conditions, so their times are no independent sample, while means of long parts nearly are. Ten to thirty
// are enough for an interval (Schmeiser 1982, "Batch size effects in the analysis of simulation output",
// section 4).
const TraceBatches = 10

// CompareTraces holds one set of traces against another, over the operations that both have often enough.
// Both are given the shares that these have in the first set: another mix of operations is no change of the
// system.
func CompareTraces(before, after lab.TraceSet) (lab.TraceComparison, error) {
	c := lab.TraceComparison{Schema: TracesSchema, Before: before, After: after, Confidence: traceConfidence,
		Batches: TraceBatches}
	c.Compared, c.Left = comparedOperations(before, after)
	if len(c.Compared) == 0 {
		return c, fmt.Errorf("%s and %s have no operation in common with %d whole traces in each", before.Name,
			after.Name, TraceBatches)
	}
	was, is := weighed(before, c.Compared), weighed(after, c.Compared)
	ratio, err := stats.LogWelch(is.seconds, was.seconds, traceConfidence)
	if err != nil {
		return c, err
	}
	c.Ratio = lab.Ratio{Ratio: ratio.Value, Low: &ratio.Low, High: &ratio.High, N: ratio.N}
	c.Seconds = traceChange(was.seconds, is.seconds)
	c.Parts, c.Services = partChanges(was, is), partChanges(was.byService(), is.byService())
	return c, nil
}

// comparedOperations returns the operations that both sets have with enough traces, and says why others are
// left out.
func comparedOperations(before, after lab.TraceSet) (all []lab.ComparedOperation, left []string) {
	left = []string{} // a list of nothing in JSON
	leave := func(o lab.TracedOperation, of lab.TraceSet, why string) {
		left = append(left, fmt.Sprintf("%s %s of %s (traces: %d): %s", o.Service, o.Operation, of.Name, o.Traces,
			why))
	}
	traces := 0
	for _, was := range before.Operations {
		is, both := operationOf(after, was)
		switch {
		case !both:
			leave(was, before, after.Name+" does not have it")
		case was.Batches == nil:
			leave(was, before, fmt.Sprintf("an interval needs %d traces", TraceBatches))
		case is.Batches == nil:
			leave(is, after, fmt.Sprintf("an interval needs %d traces", TraceBatches))
		default:
			traces += was.Traces
			all = append(all, lab.ComparedOperation{Service: was.Service, Operation: was.Operation, Before: was.Traces,
				After: is.Traces})
		}
	}
	for _, is := range after.Operations {
		if _, both := operationOf(before, is); !both {
			leave(is, after, before.Name+" does not have it")
		}
	}
	for i := range all {
		all[i].Weight = float64(all[i].Before) / float64(traces)
	}
	return all, left
}

// operationOf returns the operation of a set that has the names of another.
func operationOf(of lab.TraceSet, like lab.TracedOperation) (lab.TracedOperation, bool) {
	i := slices.IndexFunc(of.Operations, func(o lab.TracedOperation) bool {
		return o.Service == like.Service && o.Operation == like.Operation
	})
	if i < 0 {
		return lab.TracedOperation{}, false
	}
	return of.Operations[i], true
}

// weighedSet holds the means of each batch over all compared operations.
type weighedSet struct {
	seconds []float64
	parts   map[lab.TracePart][]lab.PartCost
}

// weighed returns the means over the compared operations of a set, by their weights.
func weighed(set lab.TraceSet, compared []lab.ComparedOperation) weighedSet {
	w := weighedSet{make([]float64, TraceBatches), map[lab.TracePart][]lab.PartCost{}}
	for _, c := range compared {
		o, _ := operationOf(set, lab.TracedOperation{Service: c.Service, Operation: c.Operation}) // it has it
		for i, batch := range o.Batches {
			w.seconds[i] += c.Weight * batch.Seconds
			for part, cost := range batch.Parts {
				costs := make([]lab.PartCost, TraceBatches)
				costs[i] = cost
				w.add(part, costs, c.Weight)
			}
		}
	}
	return w
}

// add adds the costs of all batches, times a weight, to those of a part.
func (w weighedSet) add(part lab.TracePart, costs []lab.PartCost, weight float64) {
	if w.parts[part] == nil {
		w.parts[part] = make([]lab.PartCost, TraceBatches)
	}
	for i, cost := range costs {
		sum := &w.parts[part][i]
		sum.Calls += weight * cost.Calls
		sum.Self += weight * cost.Self
		sum.Path += weight * cost.Path
		sum.Errors += weight * cost.Errors
	}
}

// byService returns the costs of services, all operations and kinds together.
func (w weighedSet) byService() weighedSet {
	services := weighedSet{w.seconds, map[lab.TracePart][]lab.PartCost{}}
	for part, costs := range w.parts {
		services.add(lab.TracePart{Service: part.Service}, costs, 1)
	}
	return services
}

// partChanges returns the changes of all parts that one of the sets has, the largest on the critical path
// first.
func partChanges(was, is weighedSet) []lab.PartChange {
	parts := maps.Clone(was.parts)
	maps.Copy(parts, is.parts)
	var all []lab.PartChange
	for part := range parts {
		all = append(all, partChange(part, was, is))
	}
	slices.SortFunc(all, func(a, b lab.PartChange) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Path.Difference), math.Abs(a.Path.Difference)),
			cmp.Compare(a.Service, b.Service), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// partChange returns how a part has changed. One that a set does not have costs nothing in it.
func partChange(part lab.TracePart, was, is weighedSet) lab.PartChange {
	change := func(of func(lab.PartCost) float64) lab.TraceChange {
		values := func(set weighedSet) []float64 {
			all := make([]float64, TraceBatches)
			for i, cost := range set.parts[part] {
				all[i] = of(cost)
			}
			return all
		}
		return traceChange(values(was), values(is))
	}
	return lab.PartChange{
		TracePart: part,
		Calls:     change(func(c lab.PartCost) float64 { return c.Calls }),
		Self:      change(func(c lab.PartCost) float64 { return c.Self }),
		Path:      change(func(c lab.PartCost) float64 { return c.Path }),
		Errors:    change(func(c lab.PartCost) float64 { return c.Errors }),
	}
}

// traceChange returns the means of two samples of batches with the interval of their difference.
func traceChange(was, is []float64) lab.TraceChange {
	difference, _ := stats.Difference(is, was, traceConfidence) // both have TraceBatches finite values
	return lab.TraceChange{Before: stats.Mean(was), After: stats.Mean(is), Difference: difference.Value,
		Low: difference.Low, High: difference.High}
}
