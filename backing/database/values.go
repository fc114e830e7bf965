package database

import (
	"context"
	"slices"
	"strings"
)

// Values returns the placeholders of that many rows and columns, for example
// "(?, ?), (?, ?)".
func Values(rows, columns int) string {
	row := "(" + Placeholders(columns) + ")"
	return strings.TrimSuffix(strings.Repeat(row+", ", rows), ", ")
}

// Placeholders returns that many placeholders, for example "?, ?".
func Placeholders(count int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", count), ", ")
}

// Texts returns the texts of a statement for 0 to limit rows, by number of rows, so that
// running the statement need not build them.
func Texts(limit int, build func(rows int) string) []string {
	texts := make([]string, limit+1)
	for rows := range texts {
		texts[rows] = build(rows)
	}
	return texts
}

// TextsIn returns the texts of a statement for 0 to limit keys, by number of keys. Their placeholders, in
// parentheses, are between before and after.
func TextsIn(limit int, before, after string) []string {
	return Texts(limit, func(keys int) string { return before + " (" + Placeholders(keys) + ")" + after })
}

// EachOf runs a query for many keys, with as few statements as possible, and calls scan for
// each row. texts come from TextsIn; the keys are the query's only arguments.
func EachOf[K any](ctx context.Context, db *DB, scan func(Row) error, texts []string, keys []K) error {
	for part := range slices.Chunk(keys, len(texts)-1) {
		args := make([]any, len(part))
		for i, key := range part {
			args[i] = key
		}
		if err := db.Each(ctx, scan, texts[len(part)], args...); err != nil {
			return err
		}
	}
	return nil
}

// Pairs runs a query of two columns for many keys (see EachOf) and returns the second
// column by the first.
func Pairs[K comparable, V any](ctx context.Context, db *DB, texts []string, keys []K) (map[K]V, error) {
	found := map[K]V{}
	err := EachOf(ctx, db, func(row Row) error {
		var key K
		var value V
		err := row.Scan(&key, &value)
		found[key] = value
		return err
	}, texts, keys)
	return found, err
}

// ExecRows runs a statement for many rows, with as few statements as possible, and returns
// the number of changed rows. values has columns values per row; texts come from Texts.
func (db *DB) ExecRows(
	ctx context.Context, texts []string, columns int, values []any,
) (changed int64, err error) {
	for part := range slices.Chunk(values, columns*(len(texts)-1)) {
		some, err := db.Exec(ctx, texts[len(part)/columns], part...)
		if err != nil {
			return 0, err
		}
		changed += some
	}
	return changed, nil
}
