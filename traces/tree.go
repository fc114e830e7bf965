package traces

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
)

// tree holds the spans of one trace.
type tree struct {
	root     *Span
	spans    []*Span // callers before the spans that they call
	children map[trace.SpanID][]*Span
	clipped  int
}

// newTree returns the tree of the spans of a trace. whole is false if a span has no end, or if the spans
// do not form one tree.
func newTree(of []*Span) (t tree, whole bool) {
	splitShared(of)
	known := map[trace.SpanID]bool{}
	for _, s := range of {
		known[s.ID] = true
	}
	t.children = map[trace.SpanID][]*Span{}
	for _, s := range of {
		switch {
		case s.End < s.Start:
			return t, false
		case known[s.Parent]:
			t.children[s.Parent] = append(t.children[s.Parent], s)
		case t.root != nil:
			return t, false
		default:
			t.root = s // its caller was not traced, or its spans were not exported
			t.root.Parent = trace.SpanID{}
		}
	}
	if t.root == nil {
		return t, false
	}
	t.spans = []*Span{t.root}
	// Bounded, because spans with the same ID can form a circle.
	for i := 0; i < len(t.spans) && len(t.spans) <= len(of); i++ {
		t.spans = append(t.spans, t.children[t.spans[i].ID]...)
	}
	return t, len(t.spans) == len(of)
}

// splitShared separates spans that client and server share, as in Zipkin: it gives the server's half an
// ID of its own, and makes it the parent of the spans that the server calls.
func splitShared(of []*Span) {
	clients := map[trace.SpanID]bool{}
	for _, s := range of {
		if s.Role == trace.SpanKindClient {
			clients[s.ID] = true
		}
	}
	own := map[trace.SpanID]*Span{} // servers by the shared ID
	for _, s := range of {
		if s.Role == trace.SpanKindServer && clients[s.ID] {
			own[s.ID] = s
			s.Parent = s.ID
			s.Follows = false // only the client's half follows from its caller
			s.ID[0] ^= 0xff
		}
	}
	for _, s := range of {
		if server := own[s.Parent]; server != nil && server != s && server.Unit == s.Unit {
			s.Parent = server.ID
		}
	}
}

// isAsynchronous reports whether the caller of a span does not wait for it.
func isAsynchronous(s *Span) bool {
	return s.Follows || s.Role == trace.SpanKindProducer || s.Role == trace.SpanKindConsumer
}

// clip cuts every span to the time of its caller, callers first: clocks of hosts differ, and a caller may
// have stopped waiting early. Asynchronous spans, and those that do not overlap with their caller, stay as
// they are.
func (t *tree) clip() {
	for _, s := range t.spans {
		for _, child := range t.children[s.ID] {
			overlaps := child.Start < s.End && child.End > s.Start
			if isAsynchronous(child) || !overlaps {
				continue
			}
			if child.Start < s.Start || child.End > s.End {
				t.clipped++
			}
			child.Start = max(child.Start, s.Start)
			child.End = min(child.End, s.End)
		}
	}
}

// self returns the self time of a span: the nanoseconds in which it does not wait for a child.
func (t *tree) self(s *Span) int64 {
	children := slices.DeleteFunc(slices.Clone(t.children[s.ID]), isAsynchronous)
	slices.SortFunc(children, func(a, b *Span) int { return cmp.Compare(a.Start, b.Start) })
	self, at := int64(0), s.Start
	for _, child := range children {
		self += max(0, min(child.Start, s.End)-at)
		at = max(at, min(child.End, s.End))
	}
	return self + max(0, s.End-at)
}

// node returns a span with all spans below it.
func (t *tree) node(s *Span) *lab.SpanNode {
	followsAlone := s.Follows && s.Role == trace.SpanKindInternal // work of its own, like that of a message
	n := &lab.SpanNode{Service: s.Unit, Component: s.Component, Name: s.Name, Peer: s.Peer, Kind: s.Kind,
		Start: s.Start, End: s.End, Self: t.self(s), Async: isAsynchronous(s),
		Serves: s.Role == trace.SpanKindServer || s.Role == trace.SpanKindConsumer || followsAlone}
	for _, child := range t.children[s.ID] {
		n.Children = append(n.Children, t.node(child))
	}
	slices.SortStableFunc(n.Children, func(a, b *lab.SpanNode) int { return cmp.Compare(a.Start, b.Start) })
	return n
}

// path returns the critical path of the trace.
func (t *tree) path() []criticalpath.Stretch {
	all := make([]spans.Record, len(t.spans))
	for i, s := range t.spans {
		if all[i] = s.Record; s.Follows {
			all[i].Role = trace.SpanKindConsumer // so that nobody waits for it
		}
	}
	whole, _ := criticalpath.New(all)                  // cannot fail: the trace has a root
	noSpan := func(spans.Record) bool { return false } // no other span ends the operation: the root does
	path, _ := whole.Until(t.root.End, noSpan)
	return path
}
