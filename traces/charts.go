package traces

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
)

// chartData collects the data for the charts of a report: critical paths, and the traffic between services.
type chartData struct {
	traces []tree // without children, which critical paths do not need
	mean   criticalpath.Mean
	counts map[lab.Traffic]int // by caller, callee and what is counted
}

// add adds a trace and its critical path.
func (c *chartData) add(t tree, path []criticalpath.Stretch) {
	c.traces = append(c.traces, tree{root: t.root, spans: t.spans})
	c.mean.Add(path)
	if c.counts == nil {
		c.counts = map[lab.Traffic]int{}
	}
	for _, s := range t.spans {
		answered := false // the service that it calls has recorded the call
		for _, child := range t.children[s.ID] {
			if child.Unit != s.Unit {
				answered = true
				c.counts[lab.Traffic{From: s.Unit, To: child.Unit, What: counted(child)}]++
			}
		}
		if !answered && s.Peer != "" {
			c.counts[lab.Traffic{From: s.Unit, To: s.Peer, What: counted(s)}]++
		}
	}
}

// counted returns what a span between two services counts as in lab.Traffic.
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
func (c *chartData) paths() []lab.Path {
	if len(c.traces) == 0 {
		return nil
	}
	took := func(t tree) int64 { return t.root.End - t.root.Start }
	slices.SortStableFunc(c.traces, func(a, b tree) int { return cmp.Compare(took(a), took(b)) })
	all := []lab.Path{c.mean.Path()}
	for _, share := range []float64{0.5, 0.99} {
		rank := math.Round(share * float64(len(c.traces)))
		shown := c.traces[max(int(rank)-1, 0)]
		operation := shown.root.Name + " " + shown.root.Trace.String()
		all = append(all, criticalpath.Path(share, operation, len(c.traces), shown.path()))
	}
	return all
}

// traffic returns how many calls, statements and messages one service sends another per trace.
func (c *chartData) traffic() []lab.Traffic {
	all := slices.SortedFunc(maps.Keys(c.counts), func(a, b lab.Traffic) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.What, b.What))
	})
	for i, t := range all {
		all[i].PerOperation = float64(c.counts[t]) / float64(len(c.traces))
	}
	return all
}
