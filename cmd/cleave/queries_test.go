package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

// startShop starts a system that stores an order for each request before it answers. A mutant answers every
// seventh request without an order.
func startShop(t *testing.T, db *database.DB, table string, mutant bool) (address string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), "CREATE TABLE "+table+" (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	var orders atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := orders.Add(1)
		if mutant && id%7 == 0 {
			return
		}
		if _, err := db.Exec(r.Context(), fmt.Sprintf("INSERT INTO %s VALUES (%d)", table, id)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(shop.Close)
	return shop.URL
}

// TestAuditsBySQLFindWhatIsLost: an audit by SQL finds that a system acknowledges orders which it does not
// store. The password is not published. TestDatabasesAreAudited tests each kind of database.
func TestAuditsBySQLFindWhatIsLost(t *testing.T) {
	config := databasetest.Fresh(t, database.PostgreSQL)
	db := databasetest.Open(t, config)
	at, err := url.Parse(config.DSN)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := at.User.Password()
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		code int
		says string
	}{
		{"honest", exitFine, "honest: its audit: orders are stored: 50, 50 GET /buy were answered rightly"},
		{"mutant", exitInvariant, "mutant: the audit found a broken rule: orders are stored (shop at " + at.Host +
			", asked: SELECT count(*) FROM mutant): 43 came, 7 missing: 50 GET /buy were answered rightly"},
	} {
		text := fmt.Sprintf(`schema: cleave-system/1
name: %[1]s
url: %s
audit:
  databases: {shop: {driver: postgres, at: "%s", name: %s, user: %s, password: "${SHOP_PASSWORD}"}}
  queries: [{rule: orders are stored, in: shop, sql: SELECT count(*) FROM %[1]s, counts: GET /buy}]
`, c.name, startShop(t, db, c.name, c.name == "mutant"), at.Host, at.Path[1:], at.User.Username())
		writeFiles(t, dir, map[string]string{c.name + ".yaml": text})
		command := program(dir, "check", c.name+".yaml", "--operations", "50", "--path", "/buy")
		expectRun(t, with(command, "SHOP_PASSWORD="+password), c.code, []string{c.says})
	}
	for path, text := range contents(t, dir) {
		if strings.Contains(string(text), password) {
			t.Errorf("the password is in %s", path)
		}
	}
}
