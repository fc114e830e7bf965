package database

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// Statements that belong to a traced operation, by the span that their context
// carries, become spans: one for the wait for a connection, which is queueing, and
// one for the database. SQLite has one connection that writes, so there that wait is
// for the other writers.

// begun holds the time at which a statement began; zero where nobody wants to know.
type begun struct {
	at     time.Time
	traced *connected // nil where its operation is not traced
}

// connected holds the time at which a statement got its connection; zero where it had one before.
type connected struct{ at time.Time }

// connectedKey is the context key of *connected.
type connectedKey struct{}

// begin reads the time only where somebody observes or traces.
func (db *DB) begin(ctx context.Context) (context.Context, begun) {
	if trace.SpanFromContext(ctx).IsRecording() {
		c := &connected{}
		return context.WithValue(ctx, connectedKey{}, c), begun{time.Now(), c}
	}
	if db.observer != nil {
		return ctx, begun{at: time.Now()}
	}
	return ctx, begun{}
}

// gotConnection is called by connections when the pool hands them out.
func gotConnection(ctx context.Context) {
	if c, traced := ctx.Value(connectedKey{}).(*connected); traced {
		c.at = time.Now()
	}
}

// note makes the spans of a statement that has ended.
func (db *DB) note(ctx context.Context, s Statement, began begun) {
	if began.traced == nil {
		return
	}
	from := began.at
	if got := began.traced.at; !got.IsZero() {
		_, waiting := beginSpan(ctx, "wait for a connection", lab.SegmentQueueing, from)
		waiting.End(trace.WithTimestamp(got))
		from = got
	}
	_, span := beginSpan(ctx, subject(s.Text), lab.SegmentDatabase, from)
	span.End()
}

// BeginSpan begins the span of a call to a store, named by its verb and what it is about: the operation waits
// for the store. The span does nothing where the operation is not traced.
func BeginSpan(ctx context.Context, verb, about string) (context.Context, trace.Span) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return beginSpan(ctx, verb+" "+about, lab.SegmentDatabase, time.Now())
}

// beginSpan begins a span of the traced operation of ctx.
func beginSpan(
	ctx context.Context, name string, kind lab.SegmentKind, from time.Time,
) (context.Context, trace.Span) {
	inside, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("backing").Start(ctx, name,
		trace.WithTimestamp(from), trace.WithSpanKind(trace.SpanKindClient))
	span.SetAttributes(attribute.String(lab.SegmentAttribute, string(kind)))
	return inside, span
}

// subject returns what a statement does and to which table: "INSERT orders".
func subject(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	before := map[string]string{"INSERT": "INTO ", "SELECT": "FROM ", "DELETE": "FROM "}[verb]
	switch {
	case verb == "UPDATE":
	case before == "":
		return text
	default:
		_, rest, _ = strings.Cut(rest, before)
	}
	if end := strings.IndexAny(rest, " \n(,"); end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimSpace(verb + " " + rest)
}
