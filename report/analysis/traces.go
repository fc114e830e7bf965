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

// tracesSchema is the version of the document of two sets of traces.
const tracesSchema = "cleave.traces/1"

// traceConfidence is the confidence of the intervals of two sets of traces.
const traceConfidence = 0.95

// TraceBatches is the number of batches into which the traces of an operation are divided. Neighbouring
// operations share their conditions, so that their times are not independent, while means of long batches
// nearly are. Ten to thirty batches are enough for an interval (Schmeiser 1982, "Batch size effects in the
// analysis of simulation output", section 4).
const TraceBatches = 10

// CompareTraces compares two sets of traces over the operations that both have often enough. Operations have
// the same weights in both sets, their shares in the first one: another mix of operations is no change of the
// system.
func CompareTraces(before, after lab.TraceSet) (lab.TraceComparison, error) {
	c := lab.TraceComparison{Schema: tracesSchema, Before: before, After: after, Confidence: traceConfidence,
		Batches: TraceBatches}
	c.Before.Operations = nil
	c.After.Operations = nil
	by := sampling{n: TraceBatches, confidence: traceConfidence,
		needs: fmt.Sprintf("an interval needs %d traces", TraceBatches),
		ratio: stats.LogWelch, difference: stats.Difference}
	var err error
	c.TraceContrast, err = by.contrast(before, after)
	return c, err
}

// traced compares every variant with the baseline by the spans of their units, at the points where two blocks
// or more have spans of both.
func (e *experiment) traced() []lab.TracedVariant {
	if !e.comparable(e.study.Baseline) {
		return nil
	}
	var all []lab.TracedVariant
	for v, point := range e.settings() {
		before, after := e.tracedBlocks(e.study.Baseline, v.Name, point.Name)
		if v.Name == e.study.Baseline || len(before) < 2 {
			continue
		}
		by := sampling{n: len(before), confidence: e.confidence(e.design.Confidence, len(before)),
			needs: "not every trial has whole traces of it", ratio: stats.PairedRatio, difference: pairedDifference}
		t := lab.TracedVariant{Variant: v.Name, Baseline: e.study.Baseline, Point: point.Name,
			Before: joined(e.study.Baseline, before), After: joined(v.Name, after)}
		var err error
		if t.TraceContrast, err = by.contrast(t.Before, t.After); err != nil {
			e.note("%s at %s is not compared by its spans: %v.", v.Name, point.Name, err)
			continue
		}
		t.Before.Operations = nil
		t.After.Operations = nil
		all = append(all, t)
	}
	return all
}

// tracedBlocks returns the traces of two variants, one set per block in which both have some.
func (e *experiment) tracedBlocks(before, after, point string) (was, is []lab.TraceSet) {
	byBlock := map[int]*lab.TraceSet{}
	for _, trial := range e.counted(before, point) {
		byBlock[trial.Block] = trial.Traced
	}
	for _, trial := range e.counted(after, point) {
		if first := byBlock[trial.Block]; first != nil && trial.Traced != nil {
			was = append(was, *first)
			is = append(is, *trial.Traced)
		}
	}
	return was, is
}

// joined returns the traces of trials as one set, in which each trial is a batch. An operation that some
// trial lacks has no batches.
func joined(name string, trials []lab.TraceSet) lab.TraceSet {
	all := lab.TraceSet{Name: name}
	at := map[lab.TracePart]int{}
	for _, trial := range trials {
		all.Spans += trial.Spans
		all.Traces += trial.Traces
		all.Broken += trial.Broken
		all.Duplicates += trial.Duplicates
		all.Clipped += trial.Clipped
		all.Dropped += trial.Dropped
		for _, o := range trial.Operations {
			key := lab.TracePart{Service: o.Service, Operation: o.Operation}
			i, known := at[key]
			if !known {
				i = len(all.Operations)
				at[key] = len(all.Operations)
				all.Operations = append(all.Operations, lab.TracedOperation{Service: o.Service, Operation: o.Operation})
			}
			all.Operations[i].Traces += o.Traces
			all.Operations[i].Batches = append(all.Operations[i].Batches, o.Batches...)
		}
	}
	for i, o := range all.Operations {
		if len(o.Batches) != len(trials) {
			all.Operations[i].Batches = nil
		}
	}
	return all
}

// pairedDifference returns the mean of a[i] - b[i] with Student's t interval.
func pairedDifference(a, b []float64, confidence float64) (stats.Estimate, error) {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i] - b[i]
	}
	return stats.MeanInterval(differences, confidence)
}

// sampling says how the batches of two sets are compared: as independent samples or as pairs.
type sampling struct {
	n          int // batches of each operation
	confidence float64
	needs      string // reason why an operation without batches is left out
	ratio      func(numerator, denominator []float64, confidence float64) (stats.Ratio, error)
	difference func(a, b []float64, confidence float64) (stats.Estimate, error)
}

// contrast returns the changes from one set to another: in all, by part and by service.
func (by sampling) contrast(before, after lab.TraceSet) (c lab.TraceContrast, err error) {
	c.Compared, c.Left = comparedOperations(before, after, by.needs)
	if len(c.Compared) == 0 {
		return c, fmt.Errorf("%s and %s have no operation in common with enough whole traces: %s", before.Name,
			after.Name, by.needs)
	}
	was := weightedMeans(before, c.Compared, by.n)
	is := weightedMeans(after, c.Compared, by.n)
	ratio, err := by.ratio(is.seconds, was.seconds, by.confidence)
	if err != nil {
		return c, err
	}
	c.Ratio = ratioOf(ratio.Estimate, ratio.N)
	c.Seconds = by.change(was.seconds, is.seconds)
	c.Parts = by.parts(was, is)
	c.Services = by.parts(was.byService(), is.byService())
	return c, nil
}

// comparedOperations returns the operations that both sets have with enough traces, and a text for each of
// the others with the reason.
func comparedOperations(
	before, after lab.TraceSet, needs string,
) (all []lab.ComparedOperation, left []string) {
	left = []string{} // [] in JSON, not null
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
			leave(was, before, needs)
		case is.Batches == nil:
			leave(is, after, needs)
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

// operationOf returns the operation of a set with the service and name of another one.
func operationOf(of lab.TraceSet, like lab.TracedOperation) (lab.TracedOperation, bool) {
	for _, o := range of.Operations {
		if o.Service == like.Service && o.Operation == like.Operation {
			return o, true
		}
	}
	return lab.TracedOperation{}, false
}

// weightedSet holds the means of each batch over all compared operations.
type weightedSet struct {
	seconds []float64
	parts   map[lab.TracePart][]lab.PartCost
}

// weightedMeans returns the weighted means of each of n batches over the compared operations of a set.
func weightedMeans(set lab.TraceSet, compared []lab.ComparedOperation, n int) weightedSet {
	w := weightedSet{make([]float64, n), map[lab.TracePart][]lab.PartCost{}}
	for _, c := range compared {
		// Every compared operation is in both sets.
		o, _ := operationOf(set, lab.TracedOperation{Service: c.Service, Operation: c.Operation})
		for i, batch := range o.Batches {
			w.seconds[i] += c.Weight * batch.Seconds
			for _, cost := range batch.Parts {
				w.add(cost.TracePart, i, cost, c.Weight)
			}
		}
	}
	return w
}

// add adds a cost, times a weight, to the cost of a part in a batch.
func (w weightedSet) add(part lab.TracePart, batch int, cost lab.PartCost, weight float64) {
	if w.parts[part] == nil {
		w.parts[part] = make([]lab.PartCost, len(w.seconds))
	}
	w.parts[part][batch] = w.parts[part][batch].Plus(cost, weight)
}

// byService returns the costs by service, over all operations and kinds.
func (w weightedSet) byService() weightedSet {
	services := weightedSet{w.seconds, map[lab.TracePart][]lab.PartCost{}}
	for part, costs := range w.parts {
		for i, cost := range costs {
			services.add(lab.TracePart{Service: part.Service}, i, cost, 1)
		}
	}
	return services
}

// parts returns the changes of all parts of either set, the largest on the critical path first. A part that a
// set does not have costs nothing in it.
func (by sampling) parts(was, is weightedSet) []lab.PartChange {
	parts := maps.Clone(was.parts)
	maps.Copy(parts, is.parts)
	var all []lab.PartChange
	for part := range parts {
		change := func(of func(cost lab.PartCost, whole float64) float64) lab.TraceChange {
			values := func(set weightedSet) []float64 {
				values := make([]float64, by.n)
				for i, cost := range set.parts[part] {
					values[i] = of(cost, set.seconds[i])
				}
				return values
			}
			return by.change(values(was), values(is))
		}
		all = append(all, lab.PartChange{
			TracePart: part,
			Calls:     change(func(c lab.PartCost, _ float64) float64 { return c.Calls }),
			Entered:   change(func(c lab.PartCost, _ float64) float64 { return c.Entered }),
			Self:      change(func(c lab.PartCost, _ float64) float64 { return c.Self }),
			Waiting:   change(func(c lab.PartCost, _ float64) float64 { return c.Waiting }),
			Path:      change(func(c lab.PartCost, _ float64) float64 { return c.Path }),
			Share:     change(func(c lab.PartCost, whole float64) float64 { return c.Path / whole }),
			Errors:    change(func(c lab.PartCost, _ float64) float64 { return c.Errors }),
		})
	}
	size := func(c lab.PartChange) float64 { return math.Abs(c.Path.Difference) }
	slices.SortFunc(all, func(a, b lab.PartChange) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// change returns the means of two samples of batches with the interval of their difference.
func (by sampling) change(was, is []float64) lab.TraceChange {
	difference, _ := by.difference(is, was, by.confidence) // both have n finite values
	return lab.TraceChange{Before: stats.Mean(was), After: stats.Mean(is), Difference: difference.Value,
		Low: difference.Low, High: difference.High}
}
