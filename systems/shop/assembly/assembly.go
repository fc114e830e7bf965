// Package assembly joins the components of the shop into units. It is the only
// place that knows which component is made how; everything is typed, and nothing
// is looked up by name. Monolith puts all of them into one process on one
// database.
package assembly

import (
	"context"
	"net/http"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// Shop is every component, as its users see it: in this process or elsewhere.
type Shop struct {
	Catalog    shop.Catalog
	Customers  shop.Customers
	Inventory  shop.Inventory
	Payments   shop.Payments
	Shipping   shop.Shipping
	Orders     shop.Orders
	OrderViews shop.OrderViews
	StockViews shop.StockViews
}

// Monolith joins all components in this process on one database, with one
// transaction per order.
func Monolith(db *database.DB) Shop {
	all := local.Components{
		Catalog: catalog.New(db), Customers: customers.New(db), Inventory: inventory.New(db),
		Payments: payments.New(db), Shipping: shipping.New(db),
	}
	book := orders.NewBook(db)
	return Shop{
		Catalog: all.Catalog, Customers: all.Customers, Inventory: all.Inventory, Payments: all.Payments,
		Shipping:   all.Shipping,
		Orders:     orders.New(book, local.New(db, book, all)),
		OrderViews: orderviews.FromBook(book), StockViews: stockviews.FromTables(db),
	}
}

// driven returns the components that a coordinator carries orders through.
func (s Shop) driven() coordination.Components {
	return coordination.Components{
		Catalog: s.Catalog, Customers: s.Customers, Inventory: s.Inventory, Payments: s.Payments,
		Shipping: s.Shipping,
	}
}

// Handler returns the public interface in front of the shop. healthy tells whether the
// shop has all it needs; nil means always.
func (s Shop) Handler(healthy func(ctx context.Context) error) http.Handler {
	return api.NewHandler(api.Backend{
		Catalog: s.Catalog, Customers: s.Customers, Payments: s.Payments, Shipping: s.Shipping,
		Orders: s.Orders, OrderViews: s.OrderViews, StockViews: s.StockViews, Healthy: healthy,
	})
}
