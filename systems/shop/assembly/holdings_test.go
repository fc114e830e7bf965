package assembly_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// TestTablesAreThoseOfTheDatabases compares Tables with the tables that a design has in SQLite.
func TestTablesAreThoseOfTheDatabases(t *testing.T) {
	for name, count := range map[string]int{architecture.Monolith: 10, architecture.Sync: 10,
		architecture.Async: 30, "async, commands": 31} {
		turned := knobs()
		preset, commands := strings.CutSuffix(name, ", commands")
		if commands {
			turned = knobs("coordination", "orchestrated-broker")
		}
		design := designOf(t, preset, turned)
		dir := t.TempDir()
		files := map[string]string{} // by name of the database
		for _, component := range shop.Components() {
			of := design.DatabaseOf(component)
			files[of] = dir + "/" + of + ".db"
			db := databasetest.Open(t, database.Config{Driver: database.SQLite, DSN: files[of]})
			testset.Must(t, assembly.PrepareComponent(t.Context(), design, component, db,
				shop.Seed{Customers: 1, Products: 1, Stock: 1, Balance: 1}))
		}
		var found []string
		for of, file := range files {
			for _, table := range tablesOf(t, file) {
				found = append(found, of+"."+table)
			}
		}
		slices.Sort(found)
		if said := slices.Sorted(slices.Values(assembly.Tables(design))); !slices.Equal(found, said) {
			t.Errorf("%s has the tables %v, and says %v", name, found, said)
		}
		if len(found) != count {
			t.Errorf("%s has %d tables, want %d", name, len(found), count)
		}
	}
}

// tablesOf lists the tables of a file of SQLite.
func tablesOf(t *testing.T, file string) (names []string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	testset.Must(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	testset.Must(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		testset.Must(t, rows.Scan(&name))
		names = append(names, name)
	}
	testset.Must(t, rows.Err())
	return names
}
