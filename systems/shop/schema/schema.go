// Package schema makes the tables of the shop and fills them. Each component has
// migrations of its own under migrations/, and no table refers to another
// component's: all of them may share a database or have one each.
//
// It holds one schema for all databases: the files are SQL with the placeholders of
// database.DB.Define. It reads nothing; the components do.
// Entry points: Migrate and Load.
package schema

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
)

//go:embed migrations
var migrations embed.FS

// Migrate brings the tables of the components up to date. It may be repeated,
// also after a crash in its middle.
func Migrate(ctx context.Context, db *database.DB, components ...string) error {
	if err := run(ctx, db, `CREATE TABLE IF NOT EXISTS migrations (
  component {key} NOT NULL, file {key} NOT NULL, PRIMARY KEY (component, file)){keyed}`); err != nil {
		return fmt.Errorf("make the table of migrations: %w", err)
	}
	for _, component := range components {
		files, err := fs.Glob(migrations, path.Join("migrations", component, "*.sql"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("migrate %q: there is no such component (%w)", component, fs.ErrNotExist)
		}
		slices.Sort(files)
		for _, file := range files {
			if err := migrate(ctx, db, component, file); err != nil {
				return fmt.Errorf("migrate %s: %w", file, err)
			}
		}
	}
	return nil
}

// migrate runs a file unless it ran before. Its statements may be repeated: not
// every database can undo a CREATE TABLE.
func migrate(ctx context.Context, db *database.DB, component, file string) error {
	var done int64
	name := path.Base(file)
	_, err := db.One(ctx, []any{&done}, "SELECT COUNT(*) FROM migrations WHERE component = ? AND file = ?",
		component, name)
	if err != nil || done > 0 {
		return err
	}
	text, err := migrations.ReadFile(file)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(string(text), ";\n") {
		if err := run(ctx, db, statement); err != nil {
			return err
		}
	}
	_, err = db.Exec(ctx, "INSERT INTO migrations (component, file) VALUES (?, ?)"+db.KeepExisting("file"),
		component, name)
	return err
}

func run(ctx context.Context, db *database.DB, statement string) error {
	if strings.TrimSpace(statement) == "" {
		return nil
	}
	_, err := db.Exec(ctx, db.Define(statement))
	return err
}
