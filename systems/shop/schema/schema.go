// Package schema makes the tables of the shop and fills them. Each component has
// migrations of its own under migrations/, and no table refers to another
// component's: all of them may share a database or have one each.
//
// It holds one schema in three dialects: the files are SQL with {placeholders}
// for what the databases name differently. It reads nothing; the components do.
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
	words := dialect(db.Driver())
	if err := run(ctx, db, words, `CREATE TABLE IF NOT EXISTS migrations (
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
			if err := migrate(ctx, db, words, component, file); err != nil {
				return fmt.Errorf("migrate %s: %w", file, err)
			}
		}
	}
	return nil
}

// migrate runs a file unless it ran before. Its statements may be repeated: not
// every database can undo a CREATE TABLE.
func migrate(ctx context.Context, db *database.DB, words *strings.Replacer, component, file string) error {
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
		if err := run(ctx, db, words, statement); err != nil {
			return err
		}
	}
	_, err = db.Exec(ctx, "INSERT INTO migrations (component, file) VALUES (?, ?)"+db.KeepExisting("file"),
		component, name)
	return err
}

func run(ctx context.Context, db *database.DB, words *strings.Replacer, statement string) error {
	if strings.TrimSpace(statement) == "" {
		return nil
	}
	_, err := db.Exec(ctx, words.Replace(statement))
	return err
}

// dialect says what the placeholders of the migrations are called.
//
//	{number} a 64-bit key that the shop chooses   {word} a state
//	{id}     an order's id                        {key}  up to 64 ASCII characters
//	{name}   text, compared byte by byte             {journal} words and numbers
//	{rows}   end of a table with a number as key  {keyed} of one with another key
func dialect(driver database.Driver) *strings.Replacer {
	switch driver {
	case database.MariaDB:
		const ascii, end = " CHARACTER SET ascii COLLATE ascii_bin",
			" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
		return strings.NewReplacer("{number}", "BIGINT", "{id}", "CHAR(36)"+ascii, "{key}", "VARCHAR(64)"+ascii,
			"{word}", "VARCHAR(16)"+ascii, "{name}", "VARCHAR(255)", "{journal}", "VARCHAR(255)"+ascii, "{rows}", end,
			"{keyed}", end)
	case database.PostgreSQL:
		const bytewise = ` COLLATE "C"`
		return strings.NewReplacer("{number}", "BIGINT", "{id}", "VARCHAR(36)"+bytewise, "{key}",
			"VARCHAR(64)"+bytewise,
			"{word}", "VARCHAR(16)"+bytewise, "{name}", "VARCHAR(255)"+bytewise, "{journal}", "VARCHAR(255)"+bytewise,
			"{rows}", "", "{keyed}", "")
	default:
		return strings.NewReplacer("{number}", "INTEGER", "{id}", "TEXT", "{key}", "TEXT",
			"{word}", "TEXT", "{name}", "TEXT", "{journal}", "TEXT", "{rows}", "", "{keyed}", " WITHOUT ROWID")
	}
}
