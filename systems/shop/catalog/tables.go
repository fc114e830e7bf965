package catalog

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Tables are the tables of the catalog. BySQL implements them in SQL, package mapped by an ORM.
type Tables interface {
	// Products returns products. Unknown ones are left out.
	Products(ctx context.Context, ids []int64) ([]Product, error)
	// Beyond returns the first products, in the order of their names, that are after a name and a product and
	// before a text.
	Beyond(ctx context.Context, name string, product int64, before string, limit int) ([]Product, error)
	// Reprice gives a product another price and a new version. It returns 0 if the product has that price or is
	// unknown.
	Reprice(ctx context.Context, id, cents int64) (changed int64, err error)
	// Note writes down a price.
	Note(ctx context.Context, price Price) error
}

// Product is a row of the table products.
type Product struct {
	ProductID  int64 `gorm:"primaryKey"`
	Name       string
	SearchName string // the name in lower case
	PriceCents int64
	Version    int64
}

// message returns the product as a message.
func (p Product) message() *shoppb.Product {
	return &shoppb.Product{ProductId: p.ProductID, Name: p.Name, PriceCents: p.PriceCents}
}

// Price is a row of the table prices.
type Price struct {
	ProductID  int64 `gorm:"primaryKey"`
	Version    int64 `gorm:"primaryKey"`
	PriceCents int64
	ChangedUs  int64 // microseconds since 1970
}

// bySQL implements Tables. It does not read search names.
type bySQL struct {
	db     *database.DB
	quotes []string // SELECT by number of products
}

// BySQL returns the tables in a database.
func BySQL(db *database.DB) Tables {
	return bySQL{db, database.TextsIn(shop.MaxLines,
		"SELECT product_id, name, price_cents, version FROM products WHERE product_id IN", "")}
}

func (t bySQL) Products(ctx context.Context, ids []int64) ([]Product, error) {
	found := make([]Product, 0, len(ids))
	err := database.EachOf(ctx, t.db, scanInto(&found), t.quotes, ids)
	return found, err
}

func (t bySQL) Beyond(
	ctx context.Context, name string, product int64, before string, limit int,
) ([]Product, error) {
	found := make([]Product, 0, limit)
	err := t.db.Each(ctx, scanInto(&found), `SELECT product_id, name, price_cents, version FROM products
WHERE search_name < ? AND (search_name > ? OR search_name = ? AND product_id > ?)
ORDER BY search_name, product_id LIMIT ?`, before, name, name, product, limit)
	return found, err
}

func (t bySQL) Reprice(ctx context.Context, id, cents int64) (changed int64, err error) {
	return t.db.Exec(ctx, `UPDATE products SET price_cents = ?, version = version + 1
WHERE product_id = ? AND price_cents <> ?`, cents, id, cents)
}

func (t bySQL) Note(ctx context.Context, price Price) error {
	_, err := t.db.Exec(ctx,
		"INSERT INTO prices (product_id, version, price_cents, changed_us) VALUES (?, ?, ?, ?)",
		price.ProductID, price.Version, price.PriceCents, price.ChangedUs)
	return err
}

// scanInto returns a function that appends rows to products.
func scanInto(products *[]Product) func(database.Row) error {
	return func(row database.Row) error {
		var p Product
		err := row.Scan(&p.ProductID, &p.Name, &p.PriceCents, &p.Version)
		*products = append(*products, p)
		return err
	}
}
