// Package document is the client of a document store for read models: MongoDB's
// protocol through the official driver, or SQLite's JSON, behind one interface
// that means the same over both.
//
// A document is JSON with a name and a version. A newer version replaces an older
// one and never the other way round, so events may be applied late, twice or out
// of order. Every write is on the disk when its call returns.
//
// Texts are ordered by their bytes. Numbers are whole and fit 64 bits, or are
// floating-point numbers of 64 bits.
//
// Calls that belong to a traced operation are spans (docs/tracing.md).
//
// It starts no server (backing/server does) and knows no read model.
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
	// Indexed are the fields at the top of the body that Find can ask for; they
	// hold texts.
	Indexed []string
}

// Query selects documents in the order of their IDs.
type Query struct {
	Field      string // an indexed field; empty: all documents
	Value      string // what the field must be
	After      string // the ID after which to begin; empty: from the start
	Descending bool   // from the last ID to the first
	Limit      int    // documents in a page, 1 to MaxPage
}

// MaxPage is the largest page.
const MaxPage = 1000

// ErrNotFound is a document that is not there.
var ErrNotFound = errors.New("there is no such document")

// Store keeps collections. Its methods may be called from several goroutines, and
// repeated.
type Store interface {
	// Declare makes collections and their indexes where they are missing. The
	// other methods know collections that were declared.
	Declare(ctx context.Context, collections ...Collection) error
	// Upsert writes documents and returns how many of them were new or newer than
	// what was there. After an error some may be written, others not.
	Upsert(ctx context.Context, collection string, documents ...Document) (applied int, err error)
	// Get reads a document, or returns ErrNotFound.
	Get(ctx context.Context, collection, id string) (Document, error)
	// GetMany reads those of these documents that are there, in no order; at most MaxPage.
	GetMany(ctx context.Context, collection string, ids ...string) ([]Document, error)
	// Find reads a page. The next one begins After its last ID; a page with fewer
	// documents than Limit is the last.
	Find(ctx context.Context, collection string, query Query) ([]Document, error)
	// Clear removes all documents of a collection.
	Clear(ctx context.Context, collection string) error
	// Close ends the connections.
	Close() error
}

// Each reads all documents of a collection, page by page.
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

// Driver names a kind of store.
type Driver string

// The stores that Open knows.
const (
	SQLite Driver = "sqlite"
	Mongo  Driver = "mongo"
)

// Config says which store, and how.
type Config struct {
	Driver Driver
	// DSN is the path of a file (SQLite) or a mongodb:// URL that names a
	// database. It may hold a password: keep it out of arguments and messages.
	DSN string
}

// connections bounds the pool of a client.
const connections = 16

// Open connects and proves that the store answers.
func Open(ctx context.Context, config Config) (Store, error) {
	open := map[Driver]func(ctx context.Context, dsn string) (driver, error){SQLite: openSQLite,
		Mongo: openMongo}[config.Driver]
	if open == nil {
		return nil, fmt.Errorf("there is no document store %q (there are %s and %s)", config.Driver, SQLite, Mongo)
	}
	opened, err := open(ctx, config.DSN)
	if err != nil {
		return nil, fmt.Errorf("open document store: %w", err)
	}
	return &client{driver: opened}, nil
}

// OpenAt opens a database of the document store at an address, as a deployer gives it:
// sqlite:///folder or mongodb://... On a server that others use, too, the path of the address is
// the prefix of its name.
func OpenAt(ctx context.Context, address, database string) (Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the document store is not a URL")
	}
	if u.Scheme == string(SQLite) {
		return Open(ctx, Config{Driver: SQLite, DSN: filepath.Join(u.Path, database+".db")})
	}
	u.Path = "/" + strings.TrimPrefix(u.Path, "/") + database
	return Open(ctx, Config{Driver: Mongo, DSN: u.String()})
}

// check names what is wrong with a collection's names.
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

// check names what is wrong with a query.
func (q Query) check(c Collection) error {
	if q.Limit < 1 || q.Limit > MaxPage {
		return fmt.Errorf("find in %s: limit %d: a page has 1 to %d documents", c.Name, q.Limit, MaxPage)
	}
	if q.Field != "" && !slices.Contains(c.Indexed, q.Field) {
		return fmt.Errorf("find in %s: field %q is not indexed (%v are)", c.Name, q.Field, c.Indexed)
	}
	return nil
}
