// Package assembly joins the components of the shop into units. It is the only
// place that knows which component is made how; everything is typed, and nothing
// is looked up by name. Monolith puts all of them into one process on one
// database.
package assembly

import (
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// Monolith joins all components in this process on one database, with one
// transaction per order.
func Monolith(db *database.DB) shop.Parts {
	all := local.Components{
		Catalog: catalog.New(db), Customers: customers.New(db), Inventory: inventory.New(db),
		Payments: payments.New(db), Shipping: shipping.New(db),
	}
	book := orders.NewBook(db)
	return shop.Parts{
		Catalog: all.Catalog, Customers: all.Customers, Inventory: all.Inventory, Payments: all.Payments,
		Shipping:   all.Shipping,
		Orders:     orders.New(book, local.New(db, book, all)),
		OrderViews: orderviews.FromBook(book), StockViews: stockviews.FromTables(db),
	}
}
