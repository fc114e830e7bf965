package traces

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
)

// pictures collects the data for the charts of a report: critical paths, and the traffic between
// services.
type pictures struct {
	traces []tree // without children
	mean   criticalpath.Mean
	counts map[lab.Traffic]int // by caller, callee and what is counted
}

func (p *pictures) add(t tree, path []criticalpath.Stretch) {
	p.traces = append(p.traces, tree{root: t.root, spans: t.spans})
	p.mean.Add(path)
	if p.counts == nil {
		p.counts = map[lab.Traffic]int{}
	}
	for _, s := range t.spans {
		answered := false // whether the service that it calls has recorded the call
		for _, child := range t.children[s.ID] {
			if child.Unit != s.Unit {
				answered = true
				p.counts[lab.Traffic{From: s.Unit, To: child.Unit, What: counted(child)}]++
			}
		}
		if at := strings.LastIndex(s.Name, " to "); !answered && s.Role == trace.SpanKindClient && at >= 0 {
			p.counts[lab.Traffic{From: s.Unit, To: s.Name[at+len(" to "):], What: counted(s)}]++
		}
	}
}

// counted returns what a span between two services counts as.
func counted(s *Span) string {
	switch {
	case s.Role == trace.SpanKindConsumer:
		return "messages"
	case s.Kind == lab.SegmentDatabase:
		return "statements"
	}
	return "calls"
}

// paths returns the mean critical path, and the paths of the traces with the median and the 99th
// percentile of the duration.
func (p *pictures) paths() []lab.Path {
	if len(p.traces) == 0 {
		return nil
	}
	took := func(t tree) int64 { return t.root.End - t.root.Start }
	slices.SortStableFunc(p.traces, func(a, b tree) int { return cmp.Compare(took(a), took(b)) })
	all := []lab.Path{p.mean.Path()}
	for _, share := range []float64{0.5, 0.99} {
		shown := p.traces[max(int(math.Round(share*float64(len(p.traces))))-1, 0)]
		all = append(all, criticalpath.Path(share, shown.root.Name+" "+shown.root.Trace.String(), len(p.traces),
			shown.path()))
	}
	return all
}

// traffic returns how many calls, statements and messages one service sends another per trace.
func (p *pictures) traffic() []lab.Traffic {
	all := slices.SortedFunc(maps.Keys(p.counts), func(a, b lab.Traffic) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.What, b.What))
	})
	for i, t := range all {
		all[i].PerOperation = float64(p.counts[t]) / float64(len(p.traces))
	}
	return all
}
