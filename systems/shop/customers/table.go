package customers

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Table is the table of the customers. BySQL implements it in SQL, package mapped by an ORM.
type Table interface {
	// Customers returns customers. Unknown ones are left out.
	Customers(ctx context.Context, ids []int64) ([]Customer, error)
}

// Customer is a row of the table customers.
type Customer struct {
	CustomerID int64 `gorm:"primaryKey"`
	Name       string
	Email      string
	Address    string
}

// message returns the customer as a message.
func (c Customer) message() *shoppb.Customer {
	return &shoppb.Customer{CustomerId: c.CustomerID, Name: c.Name, Email: c.Email, Address: c.Address}
}

// bySQL implements Table.
type bySQL struct {
	db      *database.DB
	several []string // SELECT by number of customers
}

// BySQL returns the table in a database.
func BySQL(db *database.DB) Table {
	return bySQL{db, database.TextsIn(shop.MaxPageSize,
		"SELECT customer_id, name, email, address FROM customers WHERE customer_id IN", "")}
}

func (t bySQL) Customers(ctx context.Context, ids []int64) ([]Customer, error) {
	found := make([]Customer, 0, len(ids))
	err := database.EachOf(ctx, t.db, func(row database.Row) error {
		var c Customer
		err := row.Scan(&c.CustomerID, &c.Name, &c.Email, &c.Address)
		found = append(found, c)
		return err
	}, t.several, ids)
	return found, err
}
