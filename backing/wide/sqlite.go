package wide

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cleave-lab/cleave/backing/database"
)

// sqlite is the driver for SQLite: a keyspace is a file.
type sqlite struct{ db *database.DB }

func openSQLite(ctx context.Context, folder string, options Options) (driver, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, options.Keyspace+".db")
	db, err := database.OpenSQLite(ctx, database.Config{DSN: path, Connections: options.Connections})
	if err != nil {
		return nil, err
	}
	return sqlite{db}, nil
}

func (s sqlite) createTable(ctx context.Context, table Table) error {
	columns := ""
	for _, column := range table.Columns {
		columns += fmt.Sprintf(", %q BLOB NOT NULL", column)
	}
	_, err := s.db.Exec(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %q (%q BLOB PRIMARY KEY%s) WITHOUT ROWID",
		table.Name, keyColumn, columns))
	return sqliteFailure(err)
}

func (s sqlite) insert(ctx context.Context, table *statements, key [16]byte, values [][]byte) error {
	arguments := append(make([]any, 0, 1+len(values)), key[:])
	for _, value := range values {
		arguments = append(arguments, value)
	}
	// table.insert begins after the word INSERT.
	_, err := s.db.Exec(ctx, "INSERT OR REPLACE"+table.insert, arguments...)
	return sqliteFailure(err)
}

func (s sqlite) get(ctx context.Context, table *statements, key [16]byte) ([][]byte, error) {
	values := make([][]byte, len(table.Columns))
	found, err := s.db.One(ctx, destinations(values), table.get, key[:])
	if err != nil || !found {
		return nil, sqliteFailure(err)
	}
	return values, nil
}

// page implements driver; a position is the last key of the page before.
func (s sqlite) page(
	ctx context.Context, table Table, from []byte,
) (records []record, next []byte, err error) {
	if from == nil {
		from = []byte{} // before all keys
	}
	err = s.db.Each(ctx, func(row database.Row) error {
		var key []byte
		r := record{values: make([][]byte, len(table.Columns))}
		err := row.Scan(append([]any{&key}, destinations(r.values)...)...)
		copy(r.key[:], key)
		records = append(records, r)
		return err
	}, table.selectAll()+fmt.Sprintf(" WHERE %q > ? ORDER BY %[1]q LIMIT %d", keyColumn, pageSize), from)
	if err == nil && len(records) == pageSize {
		next = records[pageSize-1].key[:]
	}
	return records, next, sqliteFailure(err)
}

func (s sqlite) close() error { return s.db.Close() }

// sqliteFailure wraps an error in ErrUnavailable if SQLite cannot work now.
func sqliteFailure(err error) error {
	if database.IsUnavailable(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
