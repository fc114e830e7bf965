package spans

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/lab"
)

// Process begins the name of a span in which messages are taken from a queue, whose name
// follows.
const Process = "process "

const (
	// Header names what carries a trace from process to process.
	Header = "traceparent"
	// separator is between those of several operations that share a call, which only
	// this package understands: the standard knows one.
	separator = ","
)

// scope names who makes the spans.
const scope = "github.com/cleave-lab/cleave"

// Part is a span under way; nil where the operation is not traced, and then it does
// nothing.
type Part struct {
	span trace.Span
	ctx  context.Context // of what happens inside
}

// End ends the span.
func (p *Part) End() {
	if p != nil {
		p.span.End()
	}
}

// Begin begins a part of the part.
func (p *Part) Begin(name string, kind lab.SegmentKind) *Part {
	if p == nil {
		return nil
	}
	_, part := Begin(p.ctx, name, kind)
	return part
}

// Traceparent returns the header that takes the operation on to another process; empty
// where it is not traced.
func (p *Part) Traceparent() string {
	if p == nil {
		return ""
	}
	return Traceparent(p.ctx, "")
}

// Note adds an attribute.
func (p *Part) Note(key, value string) {
	if p != nil {
		p.span.SetAttributes(attribute.String(key, value))
	}
}

// Name names the span anew: who begins it may not know yet what it is.
func (p *Part) Name(name string) {
	if p != nil {
		p.span.SetName(name)
	}
}

// Call begins a call to another process: its own time is transport. method is as gRPC
// has it, /package.Service/Method.
func Call(ctx context.Context, method string) (context.Context, *Part) {
	return Begin(ctx, Method(method), lab.SegmentTransport)
}

// Method is Service/Method of /package.Service/Method.
func Method(full string) string { return full[strings.LastIndexByte(full, '.')+1:] }

// Enter begins an operation, which is traced or not as the provider decides.
func Enter(ctx context.Context, provider trace.TracerProvider, name string) (context.Context, *Part) {
	inside, span := provider.Tracer(scope).Start(ctx, name)
	if !span.IsRecording() {
		return ctx, nil
	}
	span.SetAttributes(segment(lab.SegmentBusiness))
	return inside, &Part{span, inside}
}

// Serve continues an operation that another process traces, as the header says. An empty
// header, or one of an operation that is not traced, begins nothing. began is when this
// process got the request; zero means now.
func Serve(
	ctx context.Context, provider trace.TracerProvider, header, name string, kind lab.SegmentKind,
	role trace.SpanKind, began time.Time,
) (context.Context, *Part) {
	if header == "" || provider == nil {
		return ctx, nil
	}
	if strings.Contains(header, separator) {
		return serveSeveral(ctx, provider, header, name, kind, role, began)
	}
	caller := Remote(header)
	if !caller.IsSampled() {
		return ctx, nil
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(role), trace.WithAttributes(segment(kind))}
	if !began.IsZero() {
		options = append(options, trace.WithTimestamp(began))
	}
	inside, span := provider.Tracer(scope).Start(trace.ContextWithRemoteSpanContext(ctx, caller), name,
		options...)
	return inside, &Part{span, inside}
}

// serveSeveral continues the operations that share a call.
func serveSeveral(
	ctx context.Context, provider trace.TracerProvider, headers, name string, kind lab.SegmentKind,
	role trace.SpanKind, began time.Time,
) (context.Context, *Part) {
	var batch Batch
	for header := range strings.SplitSeq(headers, separator) {
		_, part := Serve(ctx, provider, header, name, kind, role, began)
		batch.Add("", part)
	}
	if len(batch.members.all) == 0 {
		return ctx, nil
	}
	inside := batch.Join(ctx)
	return inside, &Part{batch.members, inside}
}

// Begin begins a part of what the context belongs to, where that is traced. The
// context it returns is for what happens inside.
func Begin(ctx context.Context, name string, kind lab.SegmentKind) (context.Context, *Part) {
	around := trace.SpanFromContext(ctx)
	if !around.IsRecording() {
		return ctx, nil
	}
	role := trace.SpanKindInternal
	if kind == lab.SegmentTransport { // a way to another process is its client
		role = trace.SpanKindClient
	}
	inside, span := around.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(role))
	span.SetAttributes(segment(kind))
	return inside, &Part{span, inside}
}

// Over makes the span of a part that ends now.
func Over(ctx context.Context, name string, kind lab.SegmentKind, began time.Time) {
	around := trace.SpanFromContext(ctx)
	if !around.IsRecording() {
		return
	}
	_, span := around.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithTimestamp(began),
		trace.WithAttributes(segment(kind)))
	span.End()
}

func segment(kind lab.SegmentKind) attribute.KeyValue {
	return attribute.String(lab.SegmentAttribute, string(kind))
}

// Traceparent returns the header that takes the operation of the context on to another
// process; empty where it is not traced. Of a batch (see Join) it is that of the
// operation with the key; without a key all of them, which share a call then.
func Traceparent(ctx context.Context, key string) string {
	span := trace.SpanFromContext(ctx)
	if all, many := span.(several); many {
		if key == "" {
			return all.traceparents()
		}
		span = all.of(key)
	}
	if span == nil || !span.IsRecording() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span.SpanContext()),
		carrier)
	return carrier[Header]
}

// Remote reads a header. What is none is no operation.
func Remote(header string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{Header: header})
	return trace.SpanContextFromContext(ctx)
}
