package database

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// A statement with a traced context becomes two spans: one for the wait for a
// connection, of kind queueing, and one for the database. SQLite has only one writing
// connection, so that there the wait is for other writers.

// start holds the time at which a statement began; zero if it is not traced.
type start struct {
	at     time.Time
	traced *connected // nil if the statement is not traced
}

// connected holds the time at which a statement got its connection; zero if its transaction had one already.
type connected struct{ at time.Time }

// connectedKey is the context key of *connected.
type connectedKey struct{}

// begin returns the context to run a statement with. It reads the clock only for a trace.
func (db *DB) begin(ctx context.Context) (context.Context, start) {
	if trace.SpanFromContext(ctx).IsRecording() {
		c := &connected{}
		return context.WithValue(ctx, connectedKey{}, c), start{time.Now(), c}
	}
	return ctx, start{}
}

// gotConnection records the time at which the statement of ctx got its connection. Connections call it when
// the pool assigns them.
func gotConnection(ctx context.Context) {
	if c, traced := ctx.Value(connectedKey{}).(*connected); traced {
		c.at = time.Now()
	}
}

// recordSpans records the spans of a statement that has ended.
func (db *DB) recordSpans(ctx context.Context, s Statement, began start) {
	if began.traced == nil {
		return
	}
	_, span := beginSpan(ctx, spanName(s), lab.SegmentDatabase, recordWait(ctx, began))
	span.End()
}

// recordWait records the span of the wait for a connection, if there was one, and returns its end.
func recordWait(ctx context.Context, began start) time.Time {
	got := began.traced.at
	if got.IsZero() {
		return began.at
	}
	_, waiting := beginSpan(ctx, "wait for a connection", lab.SegmentQueueing, began.at)
	waiting.End(trace.WithTimestamp(got))
	return got
}

// BeginSpan starts the span of a call to a store, named "VERB OBJECT", of kind database. If the context is
// not traced, it returns ctx and a span that does nothing.
func BeginSpan(ctx context.Context, verb, object string) (context.Context, trace.Span) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return beginSpan(ctx, verb+" "+object, lab.SegmentDatabase, time.Now())
}

// beginSpan starts a child of the span of ctx, which must be recording.
func beginSpan(
	ctx context.Context, name string, kind lab.SegmentKind, from time.Time,
) (context.Context, trace.Span) {
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer("backing")
	inside, span := tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithSpanKind(trace.SpanKindClient))
	span.SetAttributes(attribute.String(lab.SegmentAttribute, string(kind)))
	return inside, span
}

// spanName returns the name of a statement's span, without names of transactions: BEGIN, COMMIT or ROLLBACK,
// also for prepared transactions; the verb and the table of an INSERT, SELECT, UPDATE or DELETE, such as
// "INSERT orders"; the text of any other statement up to its first quoted value.
func spanName(s Statement) string {
	if slices.Contains([]StatementKind{KindBegin, KindCommit, KindRollback}, s.Kind) {
		return strings.ToUpper(string(s.Kind))
	}
	verb, rest, _ := strings.Cut(s.Text, " ")
	before := map[string]string{"INSERT": "INTO ", "SELECT": "FROM ", "DELETE": "FROM "}[verb]
	switch {
	case verb == "UPDATE":
	case before == "":
		name, _, _ := strings.Cut(s.Text, " '")
		return name
	default:
		_, rest, _ = strings.Cut(rest, before)
	}
	if end := strings.IndexAny(rest, " \n(,"); end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimSpace(verb + " " + rest)
}
