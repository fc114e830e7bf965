package bindingtest

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// tracing: the spans of a call in both processes are one tree, and say what its time
// was used for.
func tracing(t *testing.T, x *fixture) {
	caller := spans.NewProvider(1)
	ctx, entry := spans.Enter(within(t), caller, "entry")
	if _, err := x.check(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.check(ctx, "fail conflict"); kind(err) != "conflict" {
		t.Fatal(err)
	}
	entry.End()
	x.shutDown(t) // waits until all spans of the server have ended
	here := written(t, caller)
	there := written(t, x.traced)
	calls := named(here, "Health/Check", lab.SegmentTransport)
	if len(calls) != 2 || calls[0].Role != trace.SpanKindClient ||
		calls[0].Parent != named(here, "entry", lab.SegmentBusiness)[0].ID {
		t.Fatalf("the calls are %+v", calls)
	}
	for _, call := range calls {
		served := childrenOf(call, there)
		if len(served) != 1 || served[0].Name != "Health/Check" || served[0].Role != trace.SpanKindServer ||
			served[0].Kind != lab.SegmentBusiness || served[0].Trace != call.Trace {
			t.Fatalf("served is %+v", served)
		}
		if served[0].Start < call.Start || served[0].End > call.End {
			t.Errorf("served from %d to %d, called from %d to %d", served[0].Start, served[0].End, call.Start,
				call.End)
		}
		parts := childrenOf(served[0], there)
		if len(named(parts, "decode", lab.SegmentEncoding)) != 1 ||
			len(named(childrenOf(call, here), "encode", lab.SegmentEncoding)) != 1 {
			t.Errorf("the request: %+v and %+v", parts, childrenOf(call, here))
		}
		if len(named(parts, "work", lab.SegmentDatabase)) == 0 {
			continue // the failed call has no answer
		}
		if len(named(parts, "encode", lab.SegmentEncoding)) != 1 ||
			len(named(childrenOf(call, here), "decode", lab.SegmentEncoding)) != 1 {
			t.Errorf("the answer: %+v and %+v", parts, childrenOf(call, here))
		}
	}
	if len(named(there, "work", lab.SegmentDatabase)) != 1 {
		t.Errorf("what the callee does is no part of the trace: %+v", there)
	}
}

// untraced: a call that its caller does not trace is not traced by the callee.
func untraced(t *testing.T, x *fixture) {
	ctx, entry := spans.Enter(within(t), spans.NewProvider(0), "entry")
	defer entry.End()
	if _, err := x.check(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	if got := x.traced.Counts(); got != (spans.Counts{}) {
		t.Errorf("%+v", got)
	}
}

// written returns the spans that a provider keeps.
func written(t *testing.T, p *spans.Provider) []spans.Record {
	t.Helper()
	dir := t.TempDir()
	testset.Must(t, p.Write(dir, "unit"))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	return all
}

// childrenOf returns the children of a span.
func childrenOf(parent spans.Record, all []spans.Record) []spans.Record {
	return slices.DeleteFunc(slices.Clone(all), func(r spans.Record) bool { return r.Parent != parent.ID })
}

// named returns the spans of a name and kind.
func named(all []spans.Record, name string, kind lab.SegmentKind) []spans.Record {
	return slices.DeleteFunc(slices.Clone(all), func(r spans.Record) bool {
		return r.Name != name || r.Kind != kind
	})
}
