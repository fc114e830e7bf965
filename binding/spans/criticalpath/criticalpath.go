// Package criticalpath says what an operation waited for, moment by moment, from the
// spans that all processes have made of it.
//
// It walks backwards from the moment at which the operation was done: at each moment
// the operation waited for the part that ended last before (Yang and Miller 1988,
// "Critical Path Analysis for the Execution of Parallel and Distributed Programs",
// section 3). Where no part of a span was under way the time is the span's own. A
// part that went on beside a later one is not on the path.
//
// Messages are parts that nobody waits for. From the first span of the process that
// took one in the walk goes on to where it came from: the broker, the process that
// published it, its outbox, and the transaction that left it there.
//
// It does not know what the operation was, nor who asked for it.
//
// Entry point: New.
package criticalpath

import (
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

// Trace holds the spans of one operation from all processes.
type Trace struct {
	byID  map[trace.SpanID]*spans.Record
	parts map[trace.SpanID][]*spans.Record // by what they are a part of, the last to end first
	first *spans.Record
}

// New makes a trace of its spans. It has none without a first one.
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
			return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Start, a.Start))
		})
	}
	return t, t.first != nil
}

// First returns the span that the operation began with.
func (t Trace) First() spans.Record { return *t.first }

// Until returns the path from the beginning of the first span to the moment at which the
// operation was done, or to the end of the span in which that was. It was done in a span that ends reports
// true for: the last of these that began before. whole is false where spans on the way are missing.
func (t Trace) Until(done int64, ends func(spans.Record) bool) (path []Stretch, whole bool) {
	at := t.first
	for _, r := range t.byID {
		if ends(*r) && r.Start < done && r.Start > at.Start {
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
	walked map[*spans.Record]bool // files may lie: a span can be its own origin
}

// back goes back in time; what lies between was spent on that.
func (w *walk) back(to int64, unit string, kind lab.SegmentKind, name string) {
	if to >= w.at {
		return
	}
	if last := len(w.path) - 1; last >= 0 && w.path[last].Start == w.at && w.path[last].Unit == unit &&
		w.path[last].Kind == kind && w.path[last].Name == name {
		w.path[last].Start = to
	} else {
		w.path = append(w.path, Stretch{to, w.at, unit, kind, name})
	}
	w.at = to
}

// through goes back to the beginning of a span, through those of its parts that it
// waited for.
func (w *walk) through(s *spans.Record) {
	w.walked[s] = true
	for _, part := range w.trace.parts[s.ID] {
		if apart(part) || part.End > w.at || part.Start < s.Start || w.walked[part] {
			continue
		}
		w.back(part.End, s.Unit, s.Kind, s.Name)
		w.through(part)
	}
	w.back(s.Start, s.Unit, s.Kind, s.Name)
}

// apart reports whether a span goes on without anybody who waits for it.
func apart(s *spans.Record) bool {
	return s.Role == trace.SpanKindProducer || s.Role == trace.SpanKindConsumer
}

// origin goes from the beginning of a span to what it was waited for in, and returns
// that; nil where it is missing.
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

// committed returns the transaction of a span that had left a message in the outbox when
// it was found there: the last one. A message can be found a moment before its
// transaction hears that it is committed.
func (w *walk) committed(in *spans.Record) *spans.Record {
	for _, part := range w.trace.parts[in.ID] {
		if part.Kind == lab.SegmentDatabase && part.Name == "COMMIT" && part.Start < w.at {
			return part
		}
	}
	return nil
}
