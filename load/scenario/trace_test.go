package scenario

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceOf returns what OpenTelemetry reads from the header of a request, and from that of a call.
func traceOf(t *testing.T, s *Session) (trace.SpanContext, bool) {
	t.Helper()
	read := func(header http.Header) trace.SpanContext {
		ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
		return trace.SpanContextFromContext(ctx)
	}
	header := http.Header{}
	for line := range strings.SplitSeq(string(s.HTTP1()), "\r\n") {
		if name, value, found := strings.Cut(line, ": "); found {
			header.Add(name, value)
		}
	}
	called := http.Header{}
	for _, field := range s.Call().Header {
		called.Add(field.Name, field.Value)
	}
	if !read(header).Equal(read(called)) || len(header.Values(traceparent)) > 1 {
		t.Fatalf("the request has %v, the call %v", header, called)
	}
	return read(header), header.Get(traceparent) != ""
}

// TestTraceShare: every step is a trace of its own, and the flags of a flow's steps agree.
func TestTraceShare(t *testing.T) {
	const flows, share = 4000, 0.25
	f := Single(Step{Request: "GET /a"})
	f.Flows[0].Steps = append(f.Flows[0].Steps,
		Step{Request: "GET /${n}", Headers: map[string]string{"X": "${n}"}})
	f.Values = map[string]Value{"n": {Integer: &Range{7, 7}}}
	plan := compiled(t, f, "")
	p := plan.Player(Origin{Host: "h", TraceShare: share})
	s := new(Session)
	seen := map[trace.TraceID]bool{}
	sampled := 0
	for range flows {
		p.Begin(s)
		first, _ := traceOf(t, s)
		passStep(t, s, Answer{Status: 200})
		second, _ := traceOf(t, s)
		if !first.IsValid() || !second.IsValid() || first.IsSampled() != second.IsSampled() {
			t.Fatalf("the traces of a flow are %v and %v", first, second)
		}
		seen[first.TraceID()] = true
		seen[second.TraceID()] = true
		if first.IsSampled() {
			sampled++
		}
	}
	const four = 4 // standard deviations
	if len(seen) != 2*flows || math.Abs(float64(sampled)-flows*share) > four*math.Sqrt(flows*share*(1-share)) {
		t.Errorf("%d flows have %d traces, %d are to be recorded", flows, len(seen), sampled)
	}
}

// TestTracesThatAreNotAdded: requests have no trace without a share, and a step keeps its own header.
func TestTracesThatAreNotAdded(t *testing.T) {
	const own = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	for share, want := range map[float64]string{0: "", 1: "0123456789abcdef0123456789abcdef"} {
		step := Step{Request: "GET /a"}
		if share > 0 {
			step.Headers = map[string]string{"Traceparent": own}
		}
		plan := compiled(t, Single(step), "")
		p := plan.Player(Origin{Host: "h", TraceShare: share})
		s := new(Session)
		p.Begin(s)
		if is, there := traceOf(t, s); there != (want != "") || there && is.TraceID().String() != want {
			t.Errorf("share %v: the trace is %v", share, is)
		}
	}
}
