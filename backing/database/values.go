package database

import (
	"context"
	"slices"
	"strings"
)

// Values writes the placeholders of that many rows and columns:
// "(?, ?), (?, ?)".
func Values(rows, columns int) string {
	row := "(" + Placeholders(columns) + ")"
	return strings.TrimSuffix(strings.Repeat(row+", ", rows), ", ")
}

// Placeholders writes that many of them: "?, ?".
func Placeholders(count int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", count), ", ")
}

// Texts builds the texts of a statement for 0 to most rows once, so that running
// it builds nothing.
func Texts(most int, build func(rows int) string) []string {
	texts := make([]string, most+1)
	for rows := range texts {
		texts[rows] = build(rows)
	}
	return texts
}

// TextsIn builds the texts of a statement for 0 to most keys, which stand in parentheses between two parts.
func TextsIn(most int, before, after string) []string {
	return Texts(most, func(keys int) string { return before + " (" + Placeholders(keys) + ")" + after })
}

// EachOf is Each for some keys, with as few queries as may be. texts are those of the
// query by the number of its keys, see TextsIn; the keys are their only values.
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

// Pairs reads the two columns of a query for some keys, see EachOf.
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

// ExecRows is Exec for rows of that many values each, with as few statements as may
// be, and returns how many rows they have changed. texts are those of the statement by
// the number of its rows, see Texts.
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
