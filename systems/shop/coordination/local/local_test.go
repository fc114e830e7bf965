package local_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// brokenShipping fails, after or before the shipment is on record, or never.
type brokenShipping struct {
	shop.Shipping
	before, after, recall error
}

func (b *brokenShipping) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	if b.before != nil {
		return nil, b.before
	}
	shipment, err := b.Shipping.Ship(ctx, in)
	return shipment, errors.Join(err, b.after)
}

func (b *brokenShipping) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	if b.recall != nil {
		return nil, b.recall
	}
	return b.Shipping.Recall(ctx, in)
}

// open makes a shop whose last step can be broken.
func open(t *testing.T, config database.Config) (*database.DB, *orders.Orders, *brokenShipping) {
	t.Helper()
	db := databasetest.Open(t, config)
	ctx := context.Background()
	seed := shop.Seed{Customers: 2, Products: 3, Stock: 10, Balance: 1_000_000}
	if err := errors.Join(schema.Migrate(ctx, db, shop.Components()...), schema.Load(ctx, db, seed, shop.Components()...)); err != nil {
		t.Fatal(err)
	}
	last := &brokenShipping{Shipping: shipping.New(db)}
	book := orders.NewBook(db)
	return db, orders.New(book, local.New(db, book, coordination.Components{
		Catalog: catalog.New(db), Customers: customers.New(db), Inventory: inventory.New(db), Payments: payments.New(db), Shipping: last,
	})), last
}

func rows(t *testing.T, db *database.DB) (all int64) {
	t.Helper()
	for _, table := range []string{"orders", "order_lines", "reservations", "payments", "shipments"} {
		var n int64
		if _, err := db.One(context.Background(), []any{&n}, "SELECT COUNT(*) FROM "+table); err != nil {
			t.Fatal(err)
		}
		all += n
	}
	return all
}

func request(key string, products ...int64) *shoppb.CreateOrderRequest {
	in := &shoppb.CreateOrderRequest{IdempotencyKey: key, CustomerId: 1}
	for _, p := range products {
		in.Lines = append(in.Lines, &shoppb.Line{ProductId: p, Quantity: 1})
	}
	return in
}

// TestAllOrNothing breaks the last step: no trace is left, and the same key then
// makes a whole order.
func TestAllOrNothing(t *testing.T) {
	fault := errors.New("planted")
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db, service, last := open(t, fresh(t))
		ctx := context.Background()
		for _, broken := range []brokenShipping{{before: fault}, {after: fault}, {before: shop.Problemf(shop.Unavailable, "gone")}} {
			last.before, last.after = broken.before, broken.after
			if _, err := service.CreateOrder(ctx, request("k", 1, 2)); err == nil {
				t.Fatal("no error")
			}
			if n := rows(t, db); n != 0 {
				t.Fatalf("%d rows are left", n)
			}
		}
		last.before, last.after = nil, nil
		created, err := service.CreateOrder(ctx, request("k", 1, 2))
		if err != nil || created.GetOrder().GetState() != string(shop.StateConfirmed) || created.GetReplayed() {
			t.Fatalf("%v, %v", created, err)
		}
		last.recall = fault
		cancel := &shoppb.CancelOrderRequest{OrderId: created.GetOrder().GetOrderId()}
		if _, err := service.CancelOrder(ctx, cancel); !errors.Is(err, fault) {
			t.Fatalf("cancel = %v", err)
		}
		last.recall = nil
		cancelled, err := service.CancelOrder(ctx, cancel)
		if err != nil || cancelled.GetState() != string(shop.StateCancelled) || cancelled.GetVersion() != 2 {
			t.Errorf("after a cancel that failed: %v, %v", cancelled, err)
		}
	})
}

// TestStatements: what an order costs the database does not grow unnoticed, nor
// with its lines.
func TestStatements(t *testing.T) {
	db, service, _ := open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/shop.db"})
	ctx := context.Background()
	cost := func(in *shoppb.CreateOrderRequest) database.Counters {
		before := db.Counters()
		if _, err := service.CreateOrder(ctx, in); err != nil {
			t.Fatal(err)
		}
		after := db.Counters()
		return database.Counters{Statements: after.Statements - before.Statements, Commits: after.Commits - before.Commits, Rollbacks: after.Rollbacks - before.Rollbacks}
	}
	const perOrder = 14
	for name, c := range map[string]struct {
		in   *shoppb.CreateOrderRequest
		want database.Counters
	}{
		"one line":    {request("a", 1), database.Counters{Statements: perOrder, Commits: 1}},
		"three lines": {request("b", 1, 2, 3), database.Counters{Statements: perOrder, Commits: 1}},
	} {
		if got := cost(c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// Customer, products and the key, then the order with its key.
	if got, want := cost(request("a", 1)), (database.Counters{Statements: 4, Rollbacks: 1}); got != want {
		t.Errorf("a repeated key: %+v, want %+v", got, want)
	}
}
