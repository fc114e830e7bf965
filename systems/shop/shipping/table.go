package shipping

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Table is the table of the shipments. BySQL implements it in SQL, package mapped by an ORM.
type Table interface {
	// Rows are Shipments.
	steps.Rows
	// Shipment returns the shipment of an order, and whether there is one.
	Shipment(ctx context.Context, order string) (shipment Shipment, found bool, err error)
}

// Shipment is a row of the table shipments.
type Shipment struct {
	OrderID   string `gorm:"primaryKey"`
	Recipient string
	Address   string
	State     string
	Journal   string
}

// Values implements steps.Row.
func (s Shipment) Values(to []any) []any {
	return append(to, s.OrderID, s.Recipient, s.Address, s.State, s.Journal)
}

// bySQL implements Table.
type bySQL struct {
	steps.Table
	db *database.DB
}

// BySQL returns the table in a database.
func BySQL(db *database.DB) Table {
	return bySQL{steps.NewTable(db, "shipments").Of(steps.Most, "order_id", "recipient", "address", "state",
		"journal"), db}
}

func (t bySQL) Shipment(ctx context.Context, order string) (shipment Shipment, found bool, err error) {
	shipment.OrderID = order
	found, err = t.db.One(ctx, []any{&shipment.State, &shipment.Recipient, &shipment.Address},
		"SELECT state, recipient, address FROM shipments WHERE order_id = ?", order)
	return shipment, found, err
}
