package traces

import (
	"cmp"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
)

// maxParts is the highest number of parts of a set that have names of their own. Names that contain numbers
// can make a part for each; after that many, further names count under Others, one part for each service
// and kind.
const maxParts = 2000

// maxTrace is the number of spans above which a trace counts as broken: its tree is walked recursively.
const maxTrace = 100_000

// Others is the operation of spans with further names, once there are maxParts.
const Others = "(other names)"

// account holds the costs of the parts of one trace.
type account struct {
	start   int64 // nanoseconds since 1970
	seconds float64
	parts   map[lab.TracePart]lab.PartCost
}

// Summary sums up each operation of a set of spans, as the means of a number of batches of its traces.
// The set cannot be used afterwards: its spans are cut in place.
func Summary(name string, set Set, batches int) lab.TraceSet {
	return summary(name, set, batches, func(tree, []criticalpath.Stretch) {})
}

// summary does what Summary does. It also calls show with every valid trace and its critical path.
func summary(name string, set Set, batches int, show func(tree, []criticalpath.Stretch)) lab.TraceSet {
	names := partNames{known: map[lab.TracePart]bool{}}
	operations := map[lab.TracePart][]account{}
	sum := eachWhole(name, set, func(t tree) {
		operation := names.of(t.root.Unit, t.root.Name, t.root.Kind)
		operation.Kind = "" // roots of the same name may be those of servers and of clients
		path := t.path()
		operations[operation] = append(operations[operation], t.account(path, &names))
		show(t, path)
	})
	for _, part := range slices.SortedFunc(maps.Keys(operations), partOrder) {
		of := operations[part]
		sum.Operations = append(sum.Operations, lab.TracedOperation{Service: part.Service,
			Operation: part.Operation, Traces: len(of), Batches: batchMeans(of, batches)})
	}
	return sum
}

// Trees returns the valid traces of a set as trees, and the numbers of spans and traces. The set cannot
// be used afterwards.
func Trees(name string, set Set) (trees []*lab.SpanNode, counts lab.TraceSet) {
	counts = eachWhole(name, set, func(t tree) { trees = append(trees, t.node(t.root)) })
	return trees, counts
}

// eachWhole calls visit for the trees of all whole (valid) traces, with their spans cut to those of their
// callers. It returns the numbers of spans and traces.
func eachWhole(name string, set Set, visit func(tree)) lab.TraceSet {
	sum := lab.TraceSet{Name: name, Files: set.Files, Spans: len(set.Spans), Dropped: set.Dropped}
	for _, of := range byTrace(set.Spans) {
		distinct := dropDuplicates(of)
		sum.Duplicates += len(of) - len(distinct)
		t, whole := newTree(distinct)
		if !whole || len(distinct) > maxTrace || t.root.End <= t.root.Start {
			sum.Broken++
			continue
		}
		t.clip()
		sum.Clipped += t.clipped
		sum.Traces++
		visit(t)
	}
	return sum
}

// partOrder compares parts by service, operation and kind.
func partOrder(a, b lab.TracePart) int {
	return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Kind, b.Kind))
}

// byTrace returns the spans of each trace, in the order of the files.
func byTrace(all []Span) [][]*Span {
	var traces [][]*Span
	at := map[trace.TraceID]int{}
	for i := range all {
		index, known := at[all[i].Trace]
		if !known {
			index = len(traces)
			at[all[i].Trace] = index
			traces = append(traces, nil)
		}
		traces[index] = append(traces[index], &all[i])
	}
	return traces
}

// dropDuplicates returns the spans without repeated ones. Spans of a client and a server that share an ID are
// not repeated.
func dropDuplicates(of []*Span) []*Span {
	type key struct {
		id   trace.SpanID
		role trace.SpanKind
		unit string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(slices.Clone(of), func(s *Span) bool {
		k := key{s.ID, s.Role, s.Unit}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// account returns the costs of the parts of a trace: of its spans, and of the stretches of its critical
// path.
func (t *tree) account(path []criticalpath.Stretch, names *partNames) account {
	a := account{start: t.root.Start, seconds: seconds(t.root.End - t.root.Start),
		parts: map[lab.TracePart]lab.PartCost{}}
	entered := map[*Span]bool{t.root: true} // the root, and spans whose caller is in another service
	for _, s := range t.spans {
		for _, child := range t.children[s.ID] {
			entered[child] = child.Unit != s.Unit
		}
		self := t.self(s)
		cost := lab.PartCost{Calls: 1, Self: seconds(self), Waiting: seconds(s.End - s.Start - self)}
		if entered[s] {
			cost.Entered = 1
		}
		if s.Failed {
			cost.Errors = 1
		}
		a.add(names.of(s.Unit, s.Name, s.Kind), cost, 1)
	}
	for _, stretch := range path {
		a.add(names.of(stretch.Unit, stretch.Name, stretch.Kind),
			lab.PartCost{Path: seconds(stretch.End - stretch.Start)}, 1)
	}
	return a
}

// add adds a cost, multiplied by a weight, to that of a part.
func (a account) add(part lab.TracePart, cost lab.PartCost, weight float64) {
	a.parts[part] = a.parts[part].Plus(cost, weight)
}

// batchMeans returns the means of batches of traces in the order of their start; number is the number of
// batches. All batches have the same size: the first traces are left out if their number cannot be
// divided. It returns nil for fewer traces than batches.
func batchMeans(of []account, number int) []lab.TraceBatch {
	size := len(of) / number
	if size == 0 {
		return nil
	}
	slices.SortStableFunc(of, func(a, b account) int { return cmp.Compare(a.start, b.start) })
	var batches []lab.TraceBatch
	for some := range slices.Chunk(of[len(of)-size*number:], size) {
		mean := account{parts: map[lab.TracePart]lab.PartCost{}}
		share := 1 / float64(size)
		for _, one := range some {
			mean.seconds += one.seconds * share
			for part, cost := range one.parts {
				mean.add(part, cost, share)
			}
		}
		batch := lab.TraceBatch{Seconds: mean.seconds}
		for _, part := range slices.SortedFunc(maps.Keys(mean.parts), partOrder) {
			cost := mean.parts[part]
			cost.TracePart = part
			batch.Parts = append(batch.Parts, cost)
		}
		batches = append(batches, batch)
	}
	return batches
}

// partNames limits the number of parts to the first maxParts.
type partNames struct{ known map[lab.TracePart]bool }

// of returns the part for a span: its own, or Others of its service once maxParts are known.
func (n *partNames) of(service, operation string, kind lab.SegmentKind) lab.TracePart {
	part := lab.TracePart{Service: service, Operation: operation, Kind: kind}
	if !n.known[part] && len(n.known) >= maxParts {
		return lab.TracePart{Service: service, Operation: Others, Kind: kind}
	}
	n.known[part] = true
	return part
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }
