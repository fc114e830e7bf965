package schema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

func TestSchema(t *testing.T) {
	seed := shop.Seed{Customers: 3, Products: 1203, Stock: 5, Balance: 7, Random: 1}
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		db := databasetest.Open(t, open(t))
		ctx := context.Background()
		for range 2 { // the second time changes nothing
			testset.Must(t, schema.Create(ctx, db, shop.Components()...))
		}
		testset.Must(t, schema.Load(ctx, db, seed, shop.Components()...))
		shoptest.Expect(t, db, map[string]int64{"SELECT COUNT(*) FROM products": 1203,
			"SELECT COUNT(*) FROM stock": 1203, "SELECT COUNT(*) FROM customers": 3,
			"SELECT COUNT(*) FROM accounts": 3, "SELECT COUNT(*) FROM orders": 0})
		var name string
		var price int64
		if _, err := db.One(ctx, []any{&name, &price},
			"SELECT name, price_cents FROM products WHERE product_id = ?", 1203); err != nil {
			t.Fatal(err)
		}
		if want := seed.Product(1203); name != want.Name || price != want.PriceCents {
			t.Errorf("product 1203 = %s for %d, want %+v", name, price, want)
		}
		if err := schema.Load(ctx, db, seed, shop.ComponentCatalog); err == nil ||
			!strings.Contains(err.Error(), "1203 rows already") {
			t.Errorf("loading twice: %v", err)
		}
		for _, wrong := range []string{
			"UPDATE stock SET on_hand = -1 WHERE product_id = 1",
			"UPDATE accounts SET balance_cents = -1 WHERE customer_id = 1",
		} {
			if _, err := db.Exec(ctx, wrong); err == nil {
				t.Errorf("%s was allowed", wrong)
			}
		}
	})
}

// TestOwnDatabases gives a component its own tables only.
func TestOwnDatabases(t *testing.T) {
	db := databasetest.Open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/own.db"})
	ctx := context.Background()
	testset.Must(t, schema.Create(ctx, db, shop.ComponentPayments))
	testset.Must(t, schema.Load(ctx, db, shop.Seed{Customers: 2, Products: 2}, shop.ComponentPayments))
	shoptest.Expect(t, db, map[string]int64{"SELECT COUNT(*) FROM accounts": 2})
	if _, err := db.Exec(ctx, "SELECT * FROM stock"); err == nil {
		t.Error("payments has the tables of the inventory")
	}
	if err := schema.Create(ctx, db, "warehouse"); err == nil || !strings.Contains(err.Error(), `"warehouse"`) {
		t.Errorf("a component that does not exist: %v", err)
	}
	if err := schema.Load(ctx, db, shop.Seed{}); err == nil {
		t.Error("an empty seed was taken")
	}
}
