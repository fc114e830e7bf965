package system

import (
	"cmp"
	"path"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
)

// followed is an order with the times of its request and its final state, in nanoseconds
// since 1970.
type followed struct {
	order                 string
	intended, sent, final int64
	right                 bool                   // its client was answered rightly
	stretches             []criticalpath.Stretch // nil where it was not traced
}

// took returns the time to completion.
func (f followed) took() int64 { return f.final - f.intended }

// paths returns the paths of the traced orders nearest to the quantiles of all orders, and
// the mean of all traced. Without a traced order there are none.
func paths(dir string, orders []followed) ([]lab.Path, error) {
	records, err := spans.Read(dir)
	if err != nil {
		return nil, err
	}
	traces := byOrder(records)
	var traced []followed
	for _, o := range orders {
		if t, ok := traces[o.order]; ok && o.follow(t) {
			traced = append(traced, o)
		}
	}
	if len(traced) == 0 {
		return nil, nil
	}
	times := make([]float64, len(orders))
	for i, o := range orders {
		times[i] = float64(o.took())
	}
	slices.Sort(times)
	var mean criticalpath.Mean
	for _, o := range traced {
		mean.Add(o.stretches)
	}
	all := []lab.Path{mean.Path()}
	for _, share := range []float64{0.5, 0.99} { // of the time to completion
		shown := nearest(traced, int64(loaded.Percentile(times, share)))
		all = append(all, criticalpath.Path(share, shown.order, len(traced), shown.stretches))
	}
	return all, nil
}

// byOrder returns the spans of traces by the order that they have made.
func byOrder(records []spans.Record) map[string]criticalpath.Trace {
	byTrace := map[trace.TraceID][]spans.Record{}
	for _, r := range records {
		byTrace[r.Trace] = append(byTrace[r.Trace], r)
	}
	orders := map[string]criticalpath.Trace{}
	for _, of := range byTrace {
		t, whole := criticalpath.New(of)
		if !whole {
			continue
		}
		if made := t.First().Note(front.LocationNote); made != "" {
			orders[path.Base(made)] = t
		}
	}
	return orders
}

// follow finds the path of the order in its trace, and reports whether it is whole.
func (f *followed) follow(t criticalpath.Trace) bool {
	first := t.First()
	// An order becomes final in its request, or later in these spans, in which the orders process events.
	inside, whole := t.Until(f.final, func(r spans.Record) bool {
		return r.Name == spans.Process+shop.ComponentOrders
	})
	// A unit that was killed has taken spans with it, or a clock was set back.
	if !whole || len(inside) == 0 {
		return false
	}
	last := inside[len(inside)-1]
	if f.intended > f.sent || f.sent > first.Start || last.End < f.final {
		return false
	}
	all := []criticalpath.Stretch{
		{Start: f.intended, End: f.sent, Unit: lab.RoleGenerator, Kind: lab.SegmentQueueing,
			Name: "wait to be sent"},
		{Start: f.sent, End: first.Start, Unit: lab.RoleGenerator, Kind: lab.SegmentTransport,
			Name: "to " + first.Unit},
	}
	all = append(all, inside...)
	f.stretches = slices.DeleteFunc(all, func(s criticalpath.Stretch) bool { return s.Start == s.End })
	return true
}

// nearest returns the order whose time is nearest to a time.
func nearest(orders []followed, time int64) followed {
	distance := func(o followed) int64 { return max(o.took()-time, time-o.took()) }
	return slices.MinFunc(orders, func(a, b followed) int { return cmp.Compare(distance(a), distance(b)) })
}
