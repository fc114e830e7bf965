// Package criticalpath computes the critical path of an operation from its spans in all
// processes: what the operation waited for at each moment.
//
// It walks backwards from the moment at which the operation was done: at each moment
// the operation waited for the child span that ended last before (Yang and Miller 1988,
// "Critical Path Analysis for the Execution of Parallel and Distributed Programs",
// section 3). While no child was running, the time is the span's own. A child that ran
// in parallel with one that ended later is not on the path.
//
// No span waits for a message. From the span that handles one, the walk continues to
// its origin: the broker, the process that published it, its outbox, and the transaction
// that wrote it there.
//
// Entry point: New.
package criticalpath

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// Stretch is a part of a path. Times are nanoseconds since 1970.
type Stretch struct {
	Start, End int64
	Unit       string
	Kind       lab.SegmentKind
	Name       string
}

// isOf reports whether a stretch is of this unit, kind and name.
func (s Stretch) isOf(unit string, kind lab.SegmentKind, name string) bool {
	return s.Unit == unit && s.Kind == kind && s.Name == name
}

// Trace holds the spans of one operation from all processes.
type Trace struct {
	byID  map[trace.SpanID]*spans.Record
	parts map[trace.SpanID][]*spans.Record // children by parent, the last to end first
	first *spans.Record                    // the root
}

// New returns the trace of an operation's spans. whole is false, and the trace unusable, if
// the root span is missing.
func New(records []spans.Record) (t Trace, whole bool) {
	t = Trace{byID: map[trace.SpanID]*spans.Record{}, parts: map[trace.SpanID][]*spans.Record{}}
	for i := range records {
		r := &records[i]
		t.byID[r.ID] = r
		t.parts[r.Parent] = append(t.parts[r.Parent], r)
		if !r.Parent.IsValid() {
			t.first = r
		}
	}
	for _, parts := range t.parts {
		slices.SortFunc(parts, func(a, b *spans.Record) int {
			return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Start, a.Start), bytes.Compare(b.ID[:], a.ID[:]))
		})
	}
	return t, t.first != nil
}

// First returns the root span.
func (t Trace) First() spans.Record { return *t.first }

// Until returns the path from the beginning of the root span to done, the moment at which
// the operation was done. It starts its walk in the last span that began before done and for
// which ends returns true, or else in the root; of several that began together, in the one that ended
// last. The path ends with that span if the span ends before done. whole is false if spans on the way
// are missing.
func (t Trace) Until(done int64, ends func(spans.Record) bool) (path []Stretch, whole bool) {
	at := t.first
	for _, r := range t.byID {
		if !ends(*r) || r.Start >= done || r.Start <= t.first.Start {
			continue
		}
		byTime := cmp.Or(cmp.Compare(r.Start, at.Start), cmp.Compare(r.End, at.End))
		if cmp.Or(byTime, bytes.Compare(r.ID[:], at.ID[:])) > 0 {
			at = r
		}
	}
	w := walk{trace: t, at: min(done, at.End), walked: map[*spans.Record]bool{}}
	for at != t.first {
		if at == nil || w.walked[at] {
			return nil, false
		}
		w.through(at)
		at = w.origin(at)
	}
	w.through(at)
	slices.Reverse(w.path)
	return w.path, true
}

// walk is a path while it is being walked, the last stretch first.
type walk struct {
	trace  Trace
	at     int64
	path   []Stretch
	walked map[*spans.Record]bool // ends the walk if a damaged file has a cycle
}

// back moves the walk back to a time and adds the stretch in between to the path.
func (w *walk) back(to int64, unit string, kind lab.SegmentKind, name string) {
	if to >= w.at {
		return
	}
	last := len(w.path) - 1
	if last >= 0 && w.path[last].Start == w.at && w.path[last].isOf(unit, kind, name) {
		w.path[last].Start = to
	} else {
		w.path = append(w.path, Stretch{to, w.at, unit, kind, name})
	}
	w.at = to
}

// through walks back to the beginning of a span, through the children that it waited
// for.
func (w *walk) through(s *spans.Record) {
	w.walked[s] = true
	for _, part := range w.trace.parts[s.ID] {
		if isAsynchronous(part) || part.End > w.at || part.Start < s.Start || w.walked[part] {
			continue
		}
		w.back(part.End, s.Unit, s.Kind, s.Name)
		w.through(part)
	}
	w.back(s.Start, s.Unit, s.Kind, s.Name)
}

// isAsynchronous reports whether the parent of a span does not wait for it.
func isAsynchronous(s *spans.Record) bool {
	return s.Role == trace.SpanKindProducer || s.Role == trace.SpanKindConsumer
}

// origin walks back from the beginning of a span to its parent, and returns the parent; nil
// if it is missing.
func (w *walk) origin(s *spans.Record) *spans.Record {
	from := w.trace.byID[s.Parent]
	switch {
	case from == nil:
	case s.Role == trace.SpanKindConsumer:
		w.back(from.End, "broker", lab.SegmentBroker, strings.TrimPrefix(s.Name, spans.Process))
	case s.Role == trace.SpanKindProducer:
		if commit := w.committed(from); commit != nil && !w.walked[commit] {
			w.back(commit.End, s.Unit, lab.SegmentQueueing, "outbox")
			w.through(commit)
		}
	}
	return from
}

// committed returns the transaction of a span that wrote a message which the relay found
// at w.at: the last one that began to commit before. The relay can find a message before
// the COMMIT span ends.
func (w *walk) committed(in *spans.Record) *spans.Record {
	for _, part := range w.trace.parts[in.ID] {
		if part.Kind == lab.SegmentDatabase && part.Name == "COMMIT" && part.Start < w.at {
			return part
		}
	}
	return nil
}
