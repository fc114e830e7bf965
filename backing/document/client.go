package document

import (
	"context"
	"fmt"
	"sync"

	"github.com/cleave-lab/cleave/backing/database"
)

// client is a Store. It checks the arguments of calls, wraps errors, and records a span for every
// call in a traced operation. Spans that the driver records, such as those of package database,
// are children of that span.
type client struct {
	driver
	declared sync.Map // Collection by its name
}

// driver is one kind of store. Its caller has checked collections, queries and the number of ids.
type driver interface {
	declare(ctx context.Context, collection Collection) error
	upsert(ctx context.Context, collection string, documents []Document) (applied int, err error)
	get(ctx context.Context, collection, id string) (Document, error)
	getMany(ctx context.Context, collection string, ids []string) ([]Document, error)
	find(ctx context.Context, collection string, query Query) ([]Document, error)
	// Close closes the connections. It is exported because client implements Store with it, by embedding.
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

// collection returns a collection by its name, or an error if this client has not declared it.
func (c *client) collection(name string) (Collection, error) {
	declared, ok := c.declared.Load(name)
	if !ok {
		return Collection{}, fmt.Errorf("collection %q was not declared", name)
	}
	return declared.(Collection), nil
}

// Upsert implements Store.
func (c *client) Upsert(ctx context.Context, collection string, documents ...Document) (int, error) {
	ctx, span := database.BeginSpan(ctx, "upsert", collection)
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
	ctx, span := database.BeginSpan(ctx, "get", collection)
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
	ctx, span := database.BeginSpan(ctx, "get", collection)
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
	ctx, span := database.BeginSpan(ctx, "find", collection)
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
