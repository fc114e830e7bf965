package inventory

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Tables are the tables of the inventory. BySQL implements them in SQL, package mapped by an ORM.
type Tables interface {
	// Rows are Reservations.
	steps.Rows
	// Reserved returns the reservations of orders line by line, and locks their rows.
	Reserved(ctx context.Context, orders []string) ([]Reservation, error)
	// OnHand returns the numbers on hand of products, and locks their rows.
	OnHand(ctx context.Context, products []int64) (map[int64]int64, error)
	// Shift moves amounts, by product, and reports whether there was enough of all; moved is the number of
	// amounts that it has moved. It locks the products in their order.
	Shift(ctx context.Context, shift Shift, amounts map[int64]int64) (enough bool, moved int64, err error)
	// Stock reads the stock of products. Unknown ones are left out.
	Stock(ctx context.Context, products []int64) ([]Stock, error)
}

// Reservation is a row of the table reservations.
type Reservation struct {
	OrderID   string `gorm:"primaryKey"`
	Line      int    `gorm:"primaryKey"`
	ProductID int64
	Quantity  int64
	State     string
	Journal   string
}

// Values implements steps.Row.
func (r Reservation) Values(to []any) []any {
	return append(to, r.OrderID, r.Line, r.ProductID, r.Quantity, r.State, r.Journal)
}

// Stock is a row of the table stock.
type Stock struct {
	ProductID int64 `gorm:"primaryKey"`
	OnHand    int64
	Reserved  int64
	Sold      int64
	Version   int64
}

// TableName returns the name of the table for gorm, whose rule is the plural.
func (Stock) TableName() string { return "stock" }

// Shift moves stock from one column to another.
type Shift struct{ From, To string }

// The columns of the stock.
const (
	onHand   = "on_hand"
	reserved = "reserved"
	sold     = "sold"
)

// bySQL implements Tables.
type bySQL struct {
	steps.Table
	db     *database.DB
	lines  []string // SELECT, and lock, by number of orders
	shelf  []string // SELECT, and lock, by number of products
	levels []string // SELECT by number of products
	shifts map[Shift]steps.Amounts
}

// BySQL returns the tables in a database.
func BySQL(db *database.DB) Tables {
	t := bySQL{
		db: db,
		Table: steps.NewTable(db, "reservations").Of(shop.MaxLines, "order_id", "line", "product_id", "quantity",
			"state", "journal"),
		lines: database.TextsIn(steps.Most,
			"SELECT order_id, state, product_id, quantity FROM reservations WHERE order_id IN",
			db.ForUpdate("order_id, line")),
		shelf: database.TextsIn(steps.Most, "SELECT product_id, on_hand FROM stock WHERE product_id IN",
			db.ForUpdate("product_id")),
		levels: database.TextsIn(steps.Most,
			"SELECT product_id, on_hand, reserved, sold, version FROM stock WHERE product_id IN", ""),
		shifts: map[Shift]steps.Amounts{},
	}
	for _, s := range []Shift{take, sell, putBack, unsell} {
		t.shifts[s] = steps.NewAmounts(db, "stock", "product_id",
			s.From+" = "+s.From+" - ?, "+s.To+" = "+s.To+" + ?, version = version + 1", s.From)
	}
	return t
}

func (t bySQL) Reserved(ctx context.Context, orders []string) ([]Reservation, error) {
	var found []Reservation
	err := database.EachOf(ctx, t.db, func(row database.Row) error {
		var r Reservation
		err := row.Scan(&r.OrderID, &r.State, &r.ProductID, &r.Quantity)
		found = append(found, r)
		return err
	}, t.lines, orders)
	return found, err
}

func (t bySQL) OnHand(ctx context.Context, products []int64) (map[int64]int64, error) {
	return database.Pairs[int64, int64](ctx, t.db, t.shelf, products)
}

func (t bySQL) Shift(
	ctx context.Context, shift Shift, amounts map[int64]int64,
) (enough bool, moved int64, err error) {
	return t.shifts[shift].Move(ctx, amounts)
}

func (t bySQL) Stock(ctx context.Context, products []int64) ([]Stock, error) {
	found := make([]Stock, 0, len(products))
	err := database.EachOf(ctx, t.db, func(row database.Row) error {
		var s Stock
		err := row.Scan(&s.ProductID, &s.OnHand, &s.Reserved, &s.Sold, &s.Version)
		found = append(found, s)
		return err
	}, t.levels, products)
	return found, err
}
