package audit

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
)

// InOne returns the databases by component, for Read, if all components share one.
func InOne(db *database.DB) map[string]*database.DB {
	all := map[string]*database.DB{}
	for _, component := range shop.Components() {
		all[component] = db
	}
	return all
}

// State holds the content of the databases. A journal is the text of the entries of a row, each with its time
// in microseconds since 1970; see readJournal.
type State struct {
	Orders       map[string]*Order // by id
	Lines        map[string][]Line // of orders, by order
	Reservations map[string][]Line // by order
	Payments     map[string][]Payment
	Shipments    map[string][]Shipment
	Stock        []Stock
	Accounts     []Account
	Products     []Product
	Prices       []Price // all but the first of each product
	Customers    []Customer
	// The orders' replica: without search names and mail addresses.
	KnownProducts  []Product
	KnownCustomers []Customer
}

// Order is an order on record.
type Order struct {
	ID, Key    string
	Customer   int64
	TotalCents int64
	State      shop.State
	Version    int64
	Journal    string
	Rejection  Rejection
	CreatedUS  int64 // microseconds since 1970
}

// Rejection is the reason why an order was rejected.
type Rejection struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// Line is a line of an order, or of a reservation. Only reservations have a State and a
// Journal, only orders a PriceCents and a Name.
type Line struct {
	Product, Quantity, PriceCents int64
	State, Journal                string
	Name                          string
	Number                        int64 // from 0
}

// Payment is the payment of an order.
type Payment struct {
	Customer, AmountCents int64
	State, Journal        string
}

// Shipment is the shipment of an order.
type Shipment struct{ Recipient, State, Journal, Address string }

// Stock is the stock of a product.
type Stock struct{ Product, OnHand, Reserved, Sold, Version int64 }

// Product is a product in the catalog.
type Product struct {
	ID               int64
	Name, SearchName string
	PriceCents       int64
	Version          int64
}

// Price is the price of a product from a moment on, in microseconds since 1970.
type Price struct{ Product, Version, Cents, ChangedUS int64 }

// Customer is a customer on record.
type Customer struct {
	ID                   int64
	Name, Email, Address string
}

// Account is the account of a customer.
type Account struct{ Customer, BalanceCents int64 }

// Read reads the databases, which from holds by the names of their components. It reads each component from a
// snapshot of its own. If replicated is true, it also reads the orders' replica of catalog and customers,
// from one more snapshot.
func Read(ctx context.Context, from map[string]*database.DB, replicated bool) (State, error) {
	s := State{
		Orders: map[string]*Order{}, Lines: map[string][]Line{}, Reservations: map[string][]Line{},
		Payments: map[string][]Payment{}, Shipments: map[string][]Shipment{},
	}
	type part struct {
		component string
		read      func(context.Context, *database.DB) error
	}
	parts := []part{
		{shop.ComponentOrders, s.readOrders}, {shop.ComponentInventory, s.readInventory},
		{shop.ComponentPayments, s.readPayments}, {shop.ComponentShipping, s.readShipments},
		{shop.ComponentCatalog, s.readProducts}, {shop.ComponentCustomers, s.readCustomers},
	}
	if replicated {
		parts = append(parts, part{shop.ComponentOrders, s.readReplica})
	}
	for _, p := range parts {
		db := from[p.component]
		if err := db.Snapshot(ctx, func(ctx context.Context) error { return p.read(ctx, db) }); err != nil {
			return State{}, fmt.Errorf("audit %s: %w", p.component, err)
		}
	}
	return s, nil
}

// list reads all rows of a query; columns returns pointers to the fields of a row.
func list[R any](ctx context.Context, db *database.DB, all *[]R, columns func(*R) []any, query string) error {
	return db.Each(ctx, func(row database.Row) error {
		var r R
		err := row.Scan(columns(&r)...)
		*all = append(*all, r)
		return err
	}, query)
}

// listByOrder is list for rows whose first column is their order.
func listByOrder[R any](
	ctx context.Context, db *database.DB, all map[string][]R, columns func(*R) []any, query string,
) error {
	return db.Each(ctx, func(row database.Row) error {
		var order string
		var r R
		err := row.Scan(append([]any{&order}, columns(&r)...)...)
		all[order] = append(all[order], r)
		return err
	}, query)
}

func (s *State) readOrders(ctx context.Context, db *database.DB) error {
	err := db.Each(ctx, func(row database.Row) error {
		o := &Order{}
		if err := row.Scan(&o.ID, &o.Key, &o.Customer, &o.TotalCents, &o.State, &o.Version, &o.Journal,
			&o.Rejection.Kind, &o.Rejection.Detail, &o.CreatedUS); err != nil {
			return err
		}
		s.Orders[o.ID] = o
		return nil
	}, "SELECT order_id, idempotency_key, customer_id, total_cents, state, version, journal, rejection_kind, "+
		"rejection_detail, created_unix_us FROM orders")
	if err != nil {
		return err
	}
	return listByOrder(ctx, db, s.Lines, func(l *Line) []any {
		return []any{&l.Product, &l.Quantity, &l.PriceCents, &l.Name, &l.Number}
	}, "SELECT order_id, product_id, quantity, unit_price_cents, name, line FROM order_lines ORDER BY "+
		"order_id, line")
}

func (s *State) readInventory(ctx context.Context, db *database.DB) error {
	err := listByOrder(ctx, db, s.Reservations, func(l *Line) []any {
		return []any{&l.Product, &l.Quantity, &l.State, &l.Journal, &l.Number}
	}, "SELECT order_id, product_id, quantity, state, journal, line FROM reservations ORDER BY order_id, line")
	if err != nil {
		return err
	}
	return list(ctx, db, &s.Stock, func(k *Stock) []any {
		return []any{&k.Product, &k.OnHand, &k.Reserved, &k.Sold, &k.Version}
	}, "SELECT product_id, on_hand, reserved, sold, version FROM stock")
}

func (s *State) readPayments(ctx context.Context, db *database.DB) error {
	err := listByOrder(ctx, db, s.Payments, func(p *Payment) []any {
		return []any{&p.Customer, &p.AmountCents, &p.State, &p.Journal}
	}, "SELECT order_id, customer_id, amount_cents, state, journal FROM payments")
	if err != nil {
		return err
	}
	return list(ctx, db, &s.Accounts, func(a *Account) []any { return []any{&a.Customer, &a.BalanceCents} },
		"SELECT customer_id, balance_cents FROM accounts")
}

func (s *State) readShipments(ctx context.Context, db *database.DB) error {
	return listByOrder(ctx, db, s.Shipments, func(p *Shipment) []any {
		return []any{&p.Recipient, &p.State, &p.Journal, &p.Address}
	}, "SELECT order_id, recipient, state, journal, address FROM shipments")
}

func (s *State) readProducts(ctx context.Context, db *database.DB) error {
	err := list(ctx, db, &s.Products, func(p *Product) []any {
		return []any{&p.ID, &p.Name, &p.SearchName, &p.PriceCents, &p.Version}
	}, "SELECT product_id, name, search_name, price_cents, version FROM products")
	if err != nil {
		return err
	}
	return list(ctx, db, &s.Prices, func(p *Price) []any {
		return []any{&p.Product, &p.Version, &p.Cents, &p.ChangedUS}
	}, "SELECT product_id, version, price_cents, changed_us FROM prices ORDER BY product_id, version")
}

func (s *State) readCustomers(ctx context.Context, db *database.DB) error {
	return list(ctx, db, &s.Customers, func(c *Customer) []any {
		return []any{&c.ID, &c.Name, &c.Email, &c.Address}
	}, "SELECT customer_id, name, email, address FROM customers")
}

func (s *State) readReplica(ctx context.Context, db *database.DB) error {
	err := list(ctx, db, &s.KnownProducts, func(p *Product) []any {
		return []any{&p.ID, &p.Name, &p.PriceCents, &p.Version}
	}, "SELECT product_id, name, price_cents, version FROM known_products")
	if err != nil {
		return err
	}
	return list(ctx, db, &s.KnownCustomers, func(c *Customer) []any { return []any{&c.ID, &c.Name, &c.Address} },
		"SELECT customer_id, name, address FROM known_customers")
}
