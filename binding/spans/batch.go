package spans

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// Batch is work that is done for several operations together. Some of them may be traced.
type Batch struct{ members batchSpan }

// Add adds the span of the operation with this key. It ignores nil.
func (b *Batch) Add(key string, part *Part) {
	if part != nil {
		b.members.all = append(b.members.all, member{key, part.span})
	}
}

// Join returns the context for the work of the batch. A span that is started with this
// context is recorded for every traced operation of the batch.
func (b *Batch) Join(ctx context.Context) context.Context {
	if len(b.members.all) == 0 {
		return ctx
	}
	return trace.ContextWithSpan(ctx, b.members)
}

// End ends the spans of all operations.
func (b *Batch) End() { b.members.End() }

// member is the span of one operation of a batch.
type member struct {
	key  string
	span trace.Span
}

// batchSpan combines the spans of a batch's operations. It has no span id itself. A message
// carries the traceparent of the operation with its key to other processes, and a call that
// operations share carries the traceparents of all. Like a single span, it ignores events,
// links and errors: the embedded noop.Span does.
type batchSpan struct {
	noop.Span
	all []member
}

// spanOf returns the span of the operation with that key, or nil if it is not traced.
func (s batchSpan) spanOf(key string) trace.Span {
	for _, m := range s.all {
		if m.key == key {
			return m.span
		}
	}
	return nil
}

// traceparents returns the headers of all operations, joined by separator.
func (s batchSpan) traceparents() string {
	headers := make([]string, len(s.all))
	for i, m := range s.all {
		headers[i] = Traceparent(trace.ContextWithSpan(context.Background(), m.span), "")
	}
	return strings.Join(headers, separator)
}

// IsRecording implements trace.Span.
func (s batchSpan) IsRecording() bool { return len(s.all) > 0 }

// SetAttributes implements trace.Span.
func (s batchSpan) SetAttributes(attributes ...attribute.KeyValue) {
	for _, m := range s.all {
		m.span.SetAttributes(attributes...)
	}
}

// SetName implements trace.Span.
func (s batchSpan) SetName(name string) {
	for _, m := range s.all {
		m.span.SetName(name)
	}
}

// End implements trace.Span.
func (s batchSpan) End(options ...trace.SpanEndOption) {
	for _, m := range s.all {
		m.span.End(options...)
	}
}

// TracerProvider implements trace.Span.
func (s batchSpan) TracerProvider() trace.TracerProvider { return batchProvider{batch: s} }

// batchProvider is the TracerProvider of a batch.
type batchProvider struct {
	embedded.TracerProvider
	batch batchSpan
}

// Tracer implements trace.TracerProvider.
func (p batchProvider) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return batchTracer{batch: p.batch}
}

// batchTracer is the Tracer of a batch. It starts a span for each operation.
type batchTracer struct {
	embedded.Tracer
	batch batchSpan
}

// Start implements trace.Tracer.
func (t batchTracer) Start(
	ctx context.Context, name string, options ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	begun := batchSpan{all: make([]member, len(t.batch.all))}
	for i, m := range t.batch.all {
		_, span := tracerOf(m.span).Start(trace.ContextWithSpan(ctx, m.span), name, options...)
		begun.all[i] = member{m.key, span}
	}
	return trace.ContextWithSpan(ctx, begun), begun
}
