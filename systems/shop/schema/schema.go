// Package schema makes the tables of the shop and fills them. Each component has a
// file of its own below tables, and no table refers to another component's: all of
// them may share a database or have one each.
//
// It holds one schema for all databases: the files are SQL with the placeholders of
// database.DB.Define. It reads nothing; the components do.
// Entry points: Create, Load and Tables.
package schema

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
)

//go:embed tables
var tables embed.FS

// made matches the beginning of a statement that makes a table.
var made = regexp.MustCompile(`CREATE TABLE IF NOT EXISTS (\w+)`)

// Tables returns the names of a component's tables; none where there is no such component.
func Tables(component string) (names []string) {
	text, err := tables.ReadFile("tables/" + component + ".sql")
	if err != nil {
		return nil
	}
	for _, found := range made.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	return names
}

// Create makes the tables of the components where they are missing.
func Create(ctx context.Context, db *database.DB, components ...string) error {
	for _, component := range components {
		text, err := tables.ReadFile("tables/" + component + ".sql")
		if err != nil {
			return fmt.Errorf("make the tables of %q: there is no such component (%w)", component, err)
		}
		for statement := range strings.SplitSeq(strings.TrimSpace(string(text)), ";\n") {
			if _, err := db.Exec(ctx, db.Define(strings.TrimSuffix(statement, ";"))); err != nil {
				return fmt.Errorf("make the tables of %s: %w", component, err)
			}
		}
	}
	return nil
}
