package database_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

// checkManyRows writes and reads more rows than fit into one statement: statements for four rows when it
// writes, and for two when it reads. The table has a row "a" already, which stays as it is.
func checkManyRows(t *testing.T, config database.Config) {
	db := table(t, config)
	ctx := context.Background()
	insert := database.Texts(4, func(n int) string {
		return "INSERT INTO items (name, amount) VALUES " + database.Values(n, 2) + db.KeepExisting("name")
	})
	if added, err := db.ExecRows(ctx, insert, 2, []any{"p", 1, "q", 2, "a", 3, "r", 4, "s", 5, "u",
		6}); err != nil || added != 5 {
		t.Errorf("added %d rows, want 5 (%v)", added, err)
	}
	query := database.Texts(2, func(n int) string {
		return "SELECT name FROM items WHERE amount IN (" + database.Placeholders(n) + ")" + db.ForUpdate("name")
	})
	for wanted, want := range map[int][]string{0: nil, 1: {"p"}, 5: {"p", "q", "r", "s", "u"}} {
		var names []string
		err := database.EachOf(ctx, db, func(row database.Row) error {
			var name string
			err := row.Scan(&name)
			names = append(names, name)
			return err
		}, query, []int64{1, 2, 4, 5, 6}[:wanted])
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%d keys: %q, want %q (%v)", wanted, names, want, err)
		}
	}
}

// checkContended calls Do with work that fails by contention twice: Do must undo its changes and retry it.
func checkContended(t *testing.T, config database.Config) {
	db := table(t, config)
	tried := 0
	err := db.Do(context.Background(), func(ctx context.Context) error {
		tried++
		if _, err := db.Exec(ctx, "UPDATE items SET amount = amount - 1 WHERE name = ?", "a"); err != nil ||
			tried == 3 {
			return err
		}
		return fmt.Errorf("a part: %w", db.Contended("planted"))
	})
	if got := amount(t, context.Background(), db, "a"); err != nil || tried != 3 || got != 9 {
		t.Errorf("tried %d times, amount = %d, %v", tried, got, err)
	}
}

// checkSpaces checks that texts which differ only in a space at their end are different keys of a table, in
// every type.
func checkSpaces(t *testing.T, config database.Config) {
	db := databasetest.Open(t, config)
	for _, kind := range []string{"id", "key", "word", "text", "journal", "name"} {
		run(t, db, db.Define("CREATE TABLE of_"+kind+" (value {"+kind+"} NOT NULL PRIMARY KEY){keyed}"))
		run(t, db, "INSERT INTO of_"+kind+" (value) VALUES (?), (?)", "a", "a ")
		for _, value := range []string{"a", "a "} {
			var got string
			found, err := db.One(t.Context(), []any{&got}, "SELECT value FROM of_"+kind+" WHERE value = ?", value)
			if err != nil || !found || got != value {
				t.Errorf("%s: read %q for %q (%v)", kind, got, value, err)
			}
		}
	}
}
