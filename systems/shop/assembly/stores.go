package assembly

import (
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
)

// Stores returns the tables of the components, each in the database of its component.
type Stores interface {
	Catalog(db *database.DB) catalog.Tables
	Customers(db *database.DB) customers.Table
	Inventory(db *database.DB) inventory.Tables
	Payments(db *database.DB) payments.Tables
	Shipping(db *database.DB) shipping.Table
	Orders(db *database.DB) orders.Tables
	// Replica returns the tables of the orders' replica.
	Replica(db *database.DB) reference.Tables
}

// stores returns the Stores of a design.
func (s Surroundings) stores(design architecture.Design) (Stores, error) {
	if design.Access == architecture.SQL {
		return bySQL{}, nil
	}
	if s.Mapped == nil {
		return nil, fmt.Errorf("%s %s: this program has no such access to tables: %w", architecture.KnobAccess,
			design.Access, errors.ErrUnsupported)
	}
	return s.Mapped, nil
}

// bySQL implements Stores by SQL.
type bySQL struct{}

func (bySQL) Catalog(db *database.DB) catalog.Tables     { return catalog.BySQL(db) }
func (bySQL) Customers(db *database.DB) customers.Table  { return customers.BySQL(db) }
func (bySQL) Inventory(db *database.DB) inventory.Tables { return inventory.BySQL(db) }
func (bySQL) Payments(db *database.DB) payments.Tables   { return payments.BySQL(db) }
func (bySQL) Shipping(db *database.DB) shipping.Table    { return shipping.BySQL(db) }
func (bySQL) Orders(db *database.DB) orders.Tables       { return orders.BySQL(db) }
func (bySQL) Replica(db *database.DB) reference.Tables   { return reference.BySQL(db) }
