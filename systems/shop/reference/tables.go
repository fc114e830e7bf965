package reference

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Tables are the tables of the replica. BySQL implements them in SQL, package mapped by an ORM.
type Tables interface {
	// Products and Customers return rows by their ids. Unknown ones are left out.
	Products(ctx context.Context, ids []int64) ([]KnownProduct, error)
	Customers(ctx context.Context, ids []int64) ([]KnownCustomer, error)
	// Reprice gives a product a price and a version, unless it has that version or a newer one.
	Reprice(ctx context.Context, id, cents, version int64) error
}

// KnownProduct is a row of the table known_products.
type KnownProduct struct {
	ProductID  int64 `gorm:"primaryKey"`
	Name       string
	PriceCents int64
	Version    int64
}

// KnownCustomer is a row of the table known_customers.
type KnownCustomer struct {
	CustomerID int64 `gorm:"primaryKey"`
	Name       string
	Address    string
}

// bySQL implements Tables. It does not read the versions of products.
type bySQL struct {
	db                  *database.DB
	products, customers []string // SELECT by number of rows
}

// BySQL returns the tables in a database.
func BySQL(db *database.DB) Tables {
	return bySQL{
		db: db,
		products: database.TextsIn(steps.Most,
			"SELECT product_id, name, price_cents FROM known_products WHERE product_id IN", ""),
		customers: database.TextsIn(steps.Most,
			"SELECT customer_id, name, address FROM known_customers WHERE customer_id IN", ""),
	}
}

func (t bySQL) Products(ctx context.Context, ids []int64) ([]KnownProduct, error) {
	found := make([]KnownProduct, 0, len(ids))
	err := database.EachOf(ctx, t.db, func(row database.Row) error {
		var p KnownProduct
		err := row.Scan(&p.ProductID, &p.Name, &p.PriceCents)
		found = append(found, p)
		return err
	}, t.products, ids)
	return found, err
}

func (t bySQL) Customers(ctx context.Context, ids []int64) ([]KnownCustomer, error) {
	found := make([]KnownCustomer, 0, len(ids))
	err := database.EachOf(ctx, t.db, func(row database.Row) error {
		var c KnownCustomer
		err := row.Scan(&c.CustomerID, &c.Name, &c.Address)
		found = append(found, c)
		return err
	}, t.customers, ids)
	return found, err
}

func (t bySQL) Reprice(ctx context.Context, id, cents, version int64) error {
	_, err := t.db.Exec(ctx,
		"UPDATE known_products SET price_cents = ?, version = ? WHERE product_id = ? AND version < ?",
		cents, version, id, version)
	return err
}
