// Package document is the client of a document store for read models: MongoDB's
// protocol through the official driver, or SQLite's JSON, behind one interface
// with the same semantics for both.
//
// A document is JSON with an ID and a version. A newer version replaces an older
// one and never the other way round, so events may be applied late, twice or out
// of order. Every write is on the disk when its call returns.
//
// Texts are ordered by their bytes. Numbers without a point and an exponent are
// whole and fit an int64, others are floating-point numbers of 64 bits. A number
// keeps its value, but not its form: 1.0 may be returned as 1. MongoDB refuses
// other numbers, names of fields with zero bytes, and bodies that are nested deeper
// than 99 levels; SQLite keeps them.
//
// Calls that belong to a traced operation are spans (docs/tracing.md).
//
// It starts no server (backing/server does).
//
// Entry points: Open, Store.
package document

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Document is one entry of a collection.
type Document struct {
	ID      string
	Version int64           // a greater one is newer
	Body    json.RawMessage // a JSON object
}

// Collection is a set of documents.
type Collection struct {
	Name string // lower-case letters, digits, underscores
	// Indexed lists the top-level fields of the body that a Query can select by; their
	// values are strings.
	Indexed []string
}

// Query selects documents in the order of their IDs.
type Query struct {
	Field      string // an indexed field; empty: all documents
	Value      string // the value of the field
	After      string // the last ID of the page before; empty: the first page
	Descending bool   // from the last ID to the first
	Limit      int    // documents in a page, 1 to MaxPage
}

// MaxPage is the largest page.
const MaxPage = 1000

// ErrNotFound means that there is no document with that ID.
var ErrNotFound = errors.New("there is no such document")

// Store is a client. It is safe for concurrent use. Its methods are idempotent: they may
// be repeated.
type Store interface {
	// Declare creates the collections and indexes that do not exist. The other methods
	// return an error for a collection that this client has not declared.
	Declare(ctx context.Context, collections ...Collection) error
	// Upsert writes documents and returns the number of those that were new or newer than
	// the stored version. After an error some may be written, others not.
	Upsert(ctx context.Context, collection string, documents ...Document) (applied int, err error)
	// Get returns a document, or ErrNotFound.
	Get(ctx context.Context, collection, id string) (Document, error)
	// GetMany returns the documents that exist, in no order, of at most MaxPage ids.
	GetMany(ctx context.Context, collection string, ids ...string) ([]Document, error)
	// Find returns a page. A page with fewer documents than Limit is the last.
	Find(ctx context.Context, collection string, query Query) ([]Document, error)
	// Close closes the connections.
	Close() error
}

// Each calls read for all documents of a collection, page by page, until it returns an error.
func Each(ctx context.Context, store Store, collection string, read func(Document) error) error {
	for query := (Query{Limit: MaxPage}); ; {
		page, err := store.Find(ctx, collection, query)
		if err != nil {
			return err
		}
		for _, d := range page {
			if err := read(d); err != nil {
				return fmt.Errorf("document %s of %s: %w", d.ID, collection, err)
			}
			query.After = d.ID
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}

// connections is the size of a client's pool.
const connections = 16

// Open opens a database of the document store at an address from a deployer, sqlite:///folder or
// mongodb://..., and checks that the store answers. On a server that others use, too, the path of the address
// is the prefix of the database's name. MongoDB looks for the user in its database admin, unless the address
// has an authSource, or an authMechanism that looks elsewhere.
func Open(ctx context.Context, address, database string) (Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the document store is not a URL") // err contains the password
	}
	var opened driver
	if u.Scheme == "sqlite" {
		opened, err = openSQLite(ctx, filepath.Join(u.Path, database+".db"))
	} else {
		opened, err = openMongo(ctx, u, strings.TrimPrefix(u.Path, "/")+database)
	}
	if err != nil {
		return nil, fmt.Errorf("open document store: %w", err)
	}
	return &client{driver: opened}, nil
}

// check returns an error if the name of the collection or of an indexed field is not allowed.
func (c Collection) check() error {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	field := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)
	if !name.MatchString(c.Name) {
		return fmt.Errorf("collection %q: a name has up to 40 lower-case letters, digits and underscores", c.Name)
	}
	for _, f := range c.Indexed {
		if !field.MatchString(f) {
			return fmt.Errorf("collection %q: indexed field %q: a name has up to 40 letters, digits and underscores",
				c.Name, f)
		}
	}
	return nil
}

// check returns an error if a query does not fit the collection.
func (q Query) check(c Collection) error {
	if q.Limit < 1 || q.Limit > MaxPage {
		return fmt.Errorf("find in %s: limit %d: a page has 1 to %d documents", c.Name, q.Limit, MaxPage)
	}
	if q.Field != "" && !slices.Contains(c.Indexed, q.Field) {
		return fmt.Errorf("find in %s: field %q is not indexed (%v are)", c.Name, q.Field, c.Indexed)
	}
	return nil
}
