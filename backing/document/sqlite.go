package document

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/backing/database"
)

// sqlite stores a collection as a table of JSON texts. The index of a field is on the
// expression that reads it.
type sqlite struct {
	db      *database.DB
	upserts sync.Map // []string by collection: the statements of upsert, by number of documents
}

// perUpsert is the number of documents that one statement writes.
const perUpsert = 64

func openSQLite(ctx context.Context, file string) (driver, error) {
	db, err := database.OpenSQLite(ctx, database.Config{DSN: file, Connections: connections})
	return &sqlite{db: db}, err
}

// declare creates the table and the indexes, and builds the statements of upsert.
func (s *sqlite) declare(ctx context.Context, c Collection) error {
	statements := []string{fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %q (id TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL) "+
			"WITHOUT ROWID", c.Name)}
	for _, field := range c.Indexed {
		statements = append(statements, fmt.Sprintf(
			"CREATE INDEX IF NOT EXISTS \"%s_%s\" ON %q (%s, id)", c.Name, field, c.Name, path(field)))
	}
	for _, statement := range statements {
		if _, err := s.db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	s.upserts.Store(c.Name, database.Texts(perUpsert, func(n int) string {
		return fmt.Sprintf("INSERT INTO %q (id, version, body) VALUES %s "+
			"ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body WHERE "+
			"excluded.version > version", c.Name, database.Values(n, 3))
	}))
	return nil
}

// path returns the expression that reads a field. Index and queries must share it: SQLite uses an index only
// for the same expression.
func path(field string) string { return "json_extract(body, '$." + field + "')" }

// upsert writes all documents in one transaction.
func (s *sqlite) upsert(ctx context.Context, collection string, documents []Document) (int, error) {
	texts, _ := s.upserts.Load(collection) // declare has stored them
	values := make([]any, 0, 3*len(documents))
	for _, d := range documents {
		if err := checkObject(d.Body); err != nil {
			return 0, fmt.Errorf("document %q: %w", d.ID, err)
		}
		values = append(values, d.ID, d.Version, string(d.Body))
	}
	var applied int64
	err := s.db.Do(ctx, func(ctx context.Context) (err error) {
		applied, err = s.db.ExecRows(ctx, texts.([]string), 3, values)
		return err
	})
	if err != nil {
		return 0, err // nothing is written
	}
	return int(applied), nil
}

func (s *sqlite) get(ctx context.Context, collection, id string) (Document, error) {
	d := Document{ID: id}
	var body string
	found, err := s.db.One(ctx, []any{&d.Version, &body},
		fmt.Sprintf("SELECT version, body FROM %q WHERE id = ?", collection), id)
	if err == nil && !found {
		err = ErrNotFound
	}
	d.Body = json.RawMessage(body)
	return d, err
}

func (s *sqlite) getMany(ctx context.Context, collection string, ids []string) ([]Document, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return s.page(ctx, fmt.Sprintf("SELECT id, version, body FROM %q WHERE id IN (%s)", collection,
		database.Placeholders(len(ids))), args)
}

// page returns the documents that a statement selects.
func (s *sqlite) page(ctx context.Context, text string, args []any) (page []Document, err error) {
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
	return page, err
}

func (s *sqlite) find(ctx context.Context, collection string, query Query) ([]Document, error) {
	order, beyond := "ASC", ">"
	if query.Descending {
		order, beyond = "DESC", "<"
	}
	var conditions []string
	var args []any
	if query.Field != "" {
		conditions = append(conditions, path(query.Field)+" = ?")
		args = append(args, query.Value)
	}
	if query.After != "" {
		conditions = append(conditions, "id "+beyond+" ?")
		args = append(args, query.After)
	}
	text := fmt.Sprintf("SELECT id, version, body FROM %q", collection)
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	return s.page(ctx, text+" ORDER BY id "+order+" LIMIT ?", append(args, query.Limit))
}

// Close implements driver.
func (s *sqlite) Close() error { return s.db.Close() }
