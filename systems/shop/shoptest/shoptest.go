// Package shoptest helps tests of the shop: it returns addresses, databases, document stores and components,
// and builds histories of clients.
package shoptest

import (
	"context"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Open returns a new database with the tables of components, filled from a seed. With the zero seed they are
// empty.
func Open(t testing.TB, config database.Config, seed shop.Seed, of ...string) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	err := schema.Create(t.Context(), db, of...)
	if err == nil && seed != (shop.Seed{}) {
		err = schema.Load(t.Context(), db, seed, of...)
	}
	testset.Must(t, err)
	return db
}

// Documents returns an empty document store.
func Documents(t testing.TB) document.Store {
	t.Helper()
	store, err := document.Open(context.Background(), "sqlite://"+t.TempDir(), "documents")
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, store.Close()) })
	return store
}

// Address returns a loopback address that nobody else takes during the test.
func Address(t testing.TB) string {
	t.Helper()
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	return launch.Loopback(ports.Numbers[0])
}

// Components are the components of a shop in this process, by SQL.
type Components struct {
	Catalog   *catalog.Catalog
	Customers *customers.Customers
	Inventory *inventory.Inventory
	Payments  *payments.Payments
	Shipping  *shipping.Shipping
	Book      *orders.Book
}

// On returns the components on a database that they share.
func On(db *database.DB) Components { return OnEach(audit.InOne(db)) }

// OnEach returns the components, each on its database.
func OnEach(databases map[string]*database.DB) Components {
	prices, stock := databases[shop.ComponentCatalog], databases[shop.ComponentInventory]
	accounts, parcels := databases[shop.ComponentPayments], databases[shop.ComponentShipping]
	book := databases[shop.ComponentOrders]
	return Components{Catalog: catalog.New(prices, catalog.BySQL(prices)),
		Customers: customers.New(customers.BySQL(databases[shop.ComponentCustomers])),
		Inventory: inventory.New(stock, inventory.BySQL(stock), false),
		Payments:  payments.New(accounts, payments.BySQL(accounts), false),
		Shipping:  shipping.New(parcels, shipping.BySQL(parcels), false),
		Book:      orders.NewBook(book, orders.BySQL(book))}
}

// Exec changes a database.
func Exec(t testing.TB, db *database.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Number returns the number that a query selects.
func Number(t testing.TB, db *database.DB, query string, args ...any) (n int64) {
	t.Helper()
	if _, err := db.One(t.Context(), []any{&n}, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Expect compares the numbers that queries select with those wanted, by query.
func Expect(t testing.TB, db *database.DB, numbers map[string]int64) {
	t.Helper()
	for query, want := range numbers {
		if got := Number(t, db, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// History holds the attempts of a client, one after the other.
type History []audit.Attempt

// Add adds an attempt at an order, with the shop's answer. After a conflict or a reused key nothing was
// carried out; after any other error that is unknown.
func (h *History) Add(operation string, asked *shoppb.CreateOrderRequest, order *shoppb.Order, err error) {
	outcome := audit.OutcomeOK
	switch {
	case shop.IsKind(err, shop.Conflict), shop.IsKind(err, shop.KeyReused):
		outcome = audit.OutcomeFail
	case err != nil:
		outcome = audit.OutcomeInfo
	}
	h.Append(audit.Attempt{Operation: operation, Key: asked.GetIdempotencyKey(), Asked: audit.AskedBy(asked),
		Outcome: outcome, Order: order.GetOrderId(), State: shop.State(order.GetState()),
		Version: order.GetVersion()})
}

// Append adds an attempt and sets its times, ten nanoseconds after the one before.
func (h *History) Append(a audit.Attempt) {
	a.ActualNS = 10 * int64(len(*h))
	a.CompleteNS = a.ActualNS + 5
	*h = append(*h, a)
}
