package document

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/backing/database"
)

// sqlite keeps a collection as a table of JSON texts, with an index over the
// expression that reads a field.
type sqlite struct {
	counters
	collections
	db      *database.DB
	upserts sync.Map // of Upsert by number of documents, by collection
}

// upsertMost is how many documents one statement writes.
const upsertMost = 64

func openSQLite(ctx context.Context, config Config) (Store, error) {
	db, err := database.OpenSQLite(ctx, database.Config{DSN: config.DSN, Connections: config.Connections})
	if err != nil {
		return nil, fmt.Errorf("open document store: %w", err)
	}
	return &sqlite{db: db}, nil
}

// Declare implements Store.
func (s *sqlite) Declare(ctx context.Context, declared ...Collection) error {
	for _, c := range declared {
		if err := c.check(); err != nil {
			return err
		}
		statements := []string{fmt.Sprintf(
			"CREATE TABLE IF NOT EXISTS %q (id TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL) "+
				"WITHOUT ROWID", c.Name)}
		for _, field := range c.Indexed {
			statements = append(statements, fmt.Sprintf(
				"CREATE INDEX IF NOT EXISTS \"%s_%s\" ON %q (%s, id)", c.Name, field, c.Name, path(field)))
		}
		for _, statement := range statements {
			if _, err := s.db.Exec(ctx, statement); err != nil {
				return fmt.Errorf("declare collection %s: %w", c.Name, err)
			}
		}
		s.upserts.Store(c.Name, database.Texts(upsertMost, func(n int) string {
			return fmt.Sprintf("INSERT INTO %q (id, version, body) VALUES %s "+
				"ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body WHERE "+
				"excluded.version > version", c.Name, database.Values(n, 3))
		}))
		s.add(c)
	}
	return nil
}

// path returns the expression that reads a field; the index has the same.
func path(field string) string { return "json_extract(body, '$." + field + "')" }

// Upsert implements Store. All documents are one transaction.
func (s *sqlite) Upsert(ctx context.Context, collection string, documents ...Document) (int, error) {
	if _, err := s.find(collection); err != nil {
		return 0, err
	}
	texts, _ := s.upserts.Load(collection) // find says that it was declared
	values := make([]any, 0, 3*len(documents))
	for _, d := range documents {
		if err := storable(d.Body); err != nil {
			return 0, fmt.Errorf("upsert into %s: document %q: %w", collection, d.ID, err)
		}
		values = append(values, d.ID, d.Version, string(d.Body))
	}
	var applied int64
	err := s.db.Do(ctx, func(ctx context.Context) error {
		applied = 0
		for part := range slices.Chunk(values, 3*upsertMost) {
			s.calls.Add(1)
			changed, err := s.db.Exec(ctx, texts.([]string)[len(part)/3], part...)
			if err != nil {
				return err
			}
			applied += changed
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("upsert into %s: %w", collection, err)
	}
	s.wrote(len(documents), int(applied))
	return int(applied), nil
}

// Get implements Store.
func (s *sqlite) Get(ctx context.Context, collection, id string) (Document, error) {
	c, err := s.find(collection)
	if err != nil {
		return Document{}, err
	}
	s.calls.Add(1)
	d := Document{ID: id}
	var body string
	found, err := s.db.One(ctx, []any{&d.Version, &body},
		fmt.Sprintf("SELECT version, body FROM %q WHERE id = ?", c.Name), id)
	if err != nil {
		return Document{}, fmt.Errorf("get %q from %s: %w", id, collection, err)
	}
	if !found {
		return Document{}, fmt.Errorf("get %q from %s: %w", id, collection, ErrNotFound)
	}
	s.read.Add(1)
	d.Body = json.RawMessage(body)
	return d, nil
}

// GetMany implements Store.
func (s *sqlite) GetMany(ctx context.Context, collection string, ids ...string) ([]Document, error) {
	c, err := s.find(collection)
	if err == nil {
		err = checkMany(collection, ids)
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	found, err := s.page(ctx, fmt.Sprintf("SELECT id, version, body FROM %q WHERE id IN (%s)", c.Name,
		database.Placeholders(len(ids))), args)
	if err != nil {
		return nil, fmt.Errorf("get %d documents from %s: %w", len(ids), collection, err)
	}
	return found, nil
}

// Find implements Store.
func (s *sqlite) Find(ctx context.Context, collection string, query Query) ([]Document, error) {
	c, err := s.find(collection)
	if err != nil {
		return nil, err
	}
	if err := query.check(c); err != nil {
		return nil, err
	}
	text, args := selection(c, query)
	page, err := s.page(ctx, text, args)
	if err != nil {
		return nil, fmt.Errorf("find in %s: %w", collection, err)
	}
	return page, nil
}

// page returns the documents that a statement selects.
func (s *sqlite) page(ctx context.Context, text string, args []any) (page []Document, err error) {
	s.calls.Add(1)
	err = s.db.Each(ctx, func(row database.Row) error {
		var d Document
		var body string
		if err := row.Scan(&d.ID, &d.Version, &body); err != nil {
			return err
		}
		d.Body = json.RawMessage(body)
		page = append(page, d)
		return nil
	}, text, args...)
	s.read.Add(int64(len(page)))
	return page, err
}

// selection writes the statement of a query.
func selection(c Collection, query Query) (text string, args []any) {
	order, beyond := "ASC", ">"
	if query.Descending {
		order, beyond = "DESC", "<"
	}
	var conditions []string
	if query.Field != "" {
		conditions, args = append(conditions, path(query.Field)+" = ?"), append(args, query.Value)
	}
	if query.After != "" {
		conditions, args = append(conditions, "id "+beyond+" ?"), append(args, query.After)
	}
	text = fmt.Sprintf("SELECT id, version, body FROM %q", c.Name)
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	return text + " ORDER BY id " + order + " LIMIT ?", append(args, query.Limit)
}

// Clear implements Store.
func (s *sqlite) Clear(ctx context.Context, collection string) error {
	c, err := s.find(collection)
	if err != nil {
		return err
	}
	s.calls.Add(1)
	if _, err := s.db.Exec(ctx, fmt.Sprintf("DELETE FROM %q", c.Name)); err != nil {
		return fmt.Errorf("clear %s: %w", collection, err)
	}
	return nil
}

// Close implements Store.
func (s *sqlite) Close() error { return s.db.Close() }
