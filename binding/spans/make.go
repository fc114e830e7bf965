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

// Process begins the name of a span in which messages of a queue are handled. The name of
// the queue follows.
const Process = "process "

const (
	// Header is the name of the header that carries a trace from process to process.
	Header = "traceparent"
	// separator separates the traceparents of several operations that share a call. The
	// standard allows only one traceparent, so other software does not understand the header.
	separator = ","
)

// scope is the instrumentation scope of all spans.
const scope = "github.com/cleave-lab/cleave"

// Part is a span that has started. It is nil if the operation is not traced; the methods
// of a nil Part do nothing.
type Part struct {
	span trace.Span
	ctx  context.Context // carries the span, as the parent of its children
}

// End ends the span.
func (p *Part) End() {
	if p != nil {
		p.span.End()
	}
}

// Begin starts a child of the span.
func (p *Part) Begin(name string, kind lab.SegmentKind) *Part {
	if p == nil {
		return nil
	}
	_, part := Begin(p.ctx, name, kind)
	return part
}

// Traceparent returns the header that continues the trace in another process, or "" if
// the operation is not traced.
func (p *Part) Traceparent() string {
	if p == nil {
		return ""
	}
	return Traceparent(p.ctx, "")
}

// Note adds or replaces an attribute.
func (p *Part) Note(key, value string) {
	if p != nil {
		p.span.SetAttributes(attribute.String(key, value))
	}
}

// SetName renames the span, for callers that do not know the name when they start it.
func (p *Part) SetName(name string) {
	if p != nil {
		p.span.SetName(name)
	}
}

// Call starts the span of a call to another process, of kind transport. method is a full
// gRPC name, /package.Service/Method.
func Call(ctx context.Context, method string) (context.Context, *Part) {
	return Begin(ctx, Method(method), lab.SegmentTransport)
}

// Method returns Service/Method of /package.Service/Method or, of a service without a package,
// /Service/Method.
func Method(full string) string {
	return strings.TrimPrefix(full[strings.LastIndexByte(full, '.')+1:], "/")
}

// Enter starts the first span of an operation. If the provider does not sample the
// operation, Enter returns ctx and nil.
func Enter(ctx context.Context, provider trace.TracerProvider, name string) (context.Context, *Part) {
	inside, span := provider.Tracer(scope).Start(ctx, name)
	if !span.IsRecording() {
		return ctx, nil
	}
	span.SetAttributes(segment(lab.SegmentBusiness))
	return inside, &Part{span, inside}
}

// Serve starts a span that continues the trace of a header from another process. If the
// header is empty or not sampled, or the provider is nil, Serve returns ctx and nil. began is
// the time when this process received the request; zero means now.
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

// serveSeveral is Serve for a call that several operations share: headers are their traceparents.
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

// Begin starts a child of the context's span, and returns it with a context for the work
// inside it. If the context is not traced, Begin returns ctx and nil.
func Begin(ctx context.Context, name string, kind lab.SegmentKind) (context.Context, *Part) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	role := trace.SpanKindInternal
	if kind == lab.SegmentTransport { // this process is the client of the call
		role = trace.SpanKindClient
	}
	inside, span := tracerOf(parent).Start(ctx, name, trace.WithSpanKind(role))
	span.SetAttributes(segment(kind))
	return inside, &Part{span, inside}
}

// RecordUntilNow records a child of the context's span, from began until now.
func RecordUntilNow(ctx context.Context, name string, kind lab.SegmentKind, began time.Time) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	_, span := tracerOf(parent).Start(ctx, name, trace.WithTimestamp(began), trace.WithAttributes(segment(kind)))
	span.End()
}

// tracerOf returns the tracer of a span, which starts its children.
func tracerOf(span trace.Span) trace.Tracer { return span.TracerProvider().Tracer(scope) }

func segment(kind lab.SegmentKind) attribute.KeyValue {
	return attribute.String(lab.SegmentAttribute, string(kind))
}

// Traceparent returns the header that continues the context's trace in another process,
// or "" if the context is not traced. In the context of a batch (see Batch.Join) it returns
// the header of the operation with this key. If key is "", it returns the headers of all
// operations of the batch, joined by separator, for a call that they share.
func Traceparent(ctx context.Context, key string) string {
	span := trace.SpanFromContext(ctx)
	if batch, shared := span.(batchSpan); shared {
		if key == "" {
			return batch.traceparents()
		}
		span = batch.spanOf(key)
	}
	if span == nil || !span.IsRecording() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	traced := trace.ContextWithSpanContext(context.Background(), span.SpanContext())
	propagation.TraceContext{}.Inject(traced, carrier)
	return carrier[Header]
}

// Remote parses a traceparent header. The result is invalid if the header is invalid.
func Remote(header string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{Header: header})
	return trace.SpanContextFromContext(ctx)
}
