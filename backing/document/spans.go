package document

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// traced makes a span of every call that belongs to a traced operation, by the span
// that its context carries: the operation waits for the store. What the store's own
// client makes, as package database does of statements, is a part of it. Of an
// operation that is not traced nothing is made.
type traced struct{ Store }

// Upsert implements Store.
func (t traced) Upsert(ctx context.Context, collection string, documents ...Document) (int, error) {
	ctx, span := begin(ctx, "upsert", collection)
	defer span.End()
	return t.Store.Upsert(ctx, collection, documents...)
}

// Get implements Store.
func (t traced) Get(ctx context.Context, collection, id string) (Document, error) {
	ctx, span := begin(ctx, "get", collection)
	defer span.End()
	return t.Store.Get(ctx, collection, id)
}

// GetMany implements Store.
func (t traced) GetMany(ctx context.Context, collection string, ids ...string) ([]Document, error) {
	ctx, span := begin(ctx, "get", collection)
	defer span.End()
	return t.Store.GetMany(ctx, collection, ids...)
}

// Find implements Store.
func (t traced) Find(ctx context.Context, collection string, query Query) ([]Document, error) {
	ctx, span := begin(ctx, "find", collection)
	defer span.End()
	return t.Store.Find(ctx, collection, query)
}

// begin begins the span of a call; one that does nothing where the operation is not
// traced.
func begin(ctx context.Context, verb, collection string) (context.Context, trace.Span) {
	around := trace.SpanFromContext(ctx)
	if !around.IsRecording() {
		return ctx, noop.Span{}
	}
	inside, span := around.TracerProvider().Tracer("document").Start(ctx, verb+" "+collection,
		trace.WithSpanKind(trace.SpanKindClient))
	span.SetAttributes(attribute.String(lab.SegmentAttribute, string(lab.SegmentDatabase)))
	return inside, span
}
