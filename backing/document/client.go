package document

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// client checks what its driver is asked for, and says what has failed. It makes a span of
// every call that belongs to a traced operation, by the span that its context carries: the
// operation waits for the store. What the driver's own client makes, as package database
// does of statements, is a part of it.
type client struct {
	driver
	declared sync.Map // Collection by its name
}

// driver is one kind of store. Collections, queries and numbers of documents that it gets are checked.
type driver interface {
	declare(ctx context.Context, collection Collection) error
	upsert(ctx context.Context, collection string, documents []Document) (applied int, err error)
	get(ctx context.Context, collection, id string) (Document, error)
	getMany(ctx context.Context, collection string, ids []string) ([]Document, error)
	find(ctx context.Context, collection string, query Query) ([]Document, error)
	clear(ctx context.Context, collection string) error
	// Close implements Store.
	Close() error
}

// Declare implements Store.
func (c *client) Declare(ctx context.Context, declared ...Collection) error {
	for _, one := range declared {
		if err := one.check(); err != nil {
			return err
		}
		if err := c.declare(ctx, one); err != nil {
			return fmt.Errorf("declare collection %s: %w", one.Name, err)
		}
		c.declared.Store(one.Name, one)
	}
	return nil
}

// collection returns a collection that was declared.
func (c *client) collection(name string) (Collection, error) {
	declared, ok := c.declared.Load(name)
	if !ok {
		return Collection{}, fmt.Errorf("collection %q was not declared", name)
	}
	return declared.(Collection), nil
}

// Upsert implements Store.
func (c *client) Upsert(ctx context.Context, collection string, documents ...Document) (int, error) {
	ctx, span := begin(ctx, "upsert", collection)
	defer span.End()
	if _, err := c.collection(collection); err != nil {
		return 0, err
	}
	applied, err := c.upsert(ctx, collection, documents)
	if err != nil {
		return applied, fmt.Errorf("upsert into %s: %w", collection, err)
	}
	return applied, nil
}

// Get implements Store.
func (c *client) Get(ctx context.Context, collection, id string) (Document, error) {
	ctx, span := begin(ctx, "get", collection)
	defer span.End()
	if _, err := c.collection(collection); err != nil {
		return Document{}, err
	}
	found, err := c.get(ctx, collection, id)
	if err != nil {
		return Document{}, fmt.Errorf("get %q from %s: %w", id, collection, err)
	}
	return found, nil
}

// GetMany implements Store.
func (c *client) GetMany(ctx context.Context, collection string, ids ...string) ([]Document, error) {
	ctx, span := begin(ctx, "get", collection)
	defer span.End()
	if _, err := c.collection(collection); err != nil || len(ids) == 0 {
		return nil, err
	}
	if len(ids) > MaxPage {
		return nil, fmt.Errorf("get %d documents from %s: at most %d at once", len(ids), collection, MaxPage)
	}
	found, err := c.getMany(ctx, collection, ids)
	if err != nil {
		return nil, fmt.Errorf("get %d documents from %s: %w", len(ids), collection, err)
	}
	return found, nil
}

// Find implements Store.
func (c *client) Find(ctx context.Context, collection string, query Query) ([]Document, error) {
	ctx, span := begin(ctx, "find", collection)
	defer span.End()
	declared, err := c.collection(collection)
	if err == nil {
		err = query.check(declared)
	}
	if err != nil {
		return nil, err
	}
	page, err := c.find(ctx, collection, query)
	if err != nil {
		return nil, fmt.Errorf("find in %s: %w", collection, err)
	}
	return page, nil
}

// Clear implements Store.
func (c *client) Clear(ctx context.Context, collection string) error {
	if _, err := c.collection(collection); err != nil {
		return err
	}
	if err := c.clear(ctx, collection); err != nil {
		return fmt.Errorf("clear %s: %w", collection, err)
	}
	return nil
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
