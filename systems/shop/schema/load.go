package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
)

// Replica names the orders' copy of catalog and customers: tables beside their own, which
// events keep up to date. It counts as a component here.
const Replica = "replica"

// Sagas names the table of the sagas that the orders drive over the broker, beside their own tables. It
// counts as a component here.
const Sagas = "sagas"

// batch is the number of rows that one INSERT has.
const batch = 500

// table is a table that a fresh shop has rows in.
type table struct {
	component string
	name      string
	columns   []string
	count     int64
	row       func(id int64) []any // ids begin at 1
}

// seeded lists the tables that a seed fills.
func seeded(seed shop.Seed) []table {
	return []table{
		{shop.ComponentCatalog, "products", []string{"product_id", "name", "search_name", "price_cents", "version"},
			seed.Products, func(id int64) []any {
				p := seed.Product(id)
				return []any{id, p.Name, strings.ToLower(p.Name), p.PriceCents, 1}
			}},
		{shop.ComponentCustomers, "customers", []string{"customer_id", "name", "email", "address"}, seed.Customers,
			func(id int64) []any {
				c := seed.Customer(id)
				return []any{id, c.Name, c.Email, c.Address}
			}},
		{shop.ComponentInventory, "stock", []string{"product_id", "on_hand", "reserved", "sold"}, seed.Products,
			func(id int64) []any {
				return []any{id, seed.Stock, 0, 0}
			}},
		{shop.ComponentPayments, "accounts", []string{"customer_id", "balance_cents"}, seed.Customers,
			func(id int64) []any {
				return []any{id, seed.Balance}
			}},
		{Replica, "known_products", []string{"product_id", "name", "price_cents", "version"}, seed.Products,
			func(id int64) []any {
				p := seed.Product(id)
				return []any{id, p.Name, p.PriceCents, 1}
			}},
		{Replica, "known_customers", []string{"customer_id", "name", "address"}, seed.Customers,
			func(id int64) []any {
				c := seed.Customer(id)
				return []any{id, c.Name, c.Address}
			}},
	}
}

// Load fills the tables of the components, in one transaction. It fails if they are not
// empty.
func Load(ctx context.Context, db *database.DB, seed shop.Seed, components ...string) error {
	if err := seed.Check(); err != nil {
		return err
	}
	return db.Do(ctx, func(ctx context.Context) error {
		for _, t := range seeded(seed) {
			if !slices.Contains(components, t.component) {
				continue
			}
			if err := fill(ctx, db, t); err != nil {
				return fmt.Errorf("load table %s: %w", t.name, err)
			}
		}
		return nil
	})
}

func fill(ctx context.Context, db *database.DB, t table) error {
	var rows int64
	if _, err := db.One(ctx, []any{&rows}, "SELECT COUNT(*) FROM "+t.name); err != nil {
		return err
	}
	if rows > 0 {
		return fmt.Errorf("it has %d rows already: a seed is for a fresh database", rows)
	}
	insert := "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES "
	whole := insert + database.Values(batch, len(t.columns))
	args := make([]any, 0, batch*len(t.columns))
	for first := int64(1); first <= t.count; first += batch {
		last := min(first+batch-1, t.count)
		args = args[:0]
		for id := first; id <= last; id++ {
			args = append(args, t.row(id)...)
		}
		text := whole
		if n := last - first + 1; n < batch {
			text = insert + database.Values(int(n), len(t.columns))
		}
		if _, err := db.Exec(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}
