package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// brokenShipping fails, after or before the shipment is on record, or never.
type brokenShipping struct {
	coordination.Shipping
	before, after, recall error
}

func (b *brokenShipping) ShipAll(ctx context.Context, all []*shoppb.ShipRequest) ([]steps.Outcome, error) {
	if b.before != nil {
		return nil, b.before
	}
	outcomes, err := b.Shipping.ShipAll(ctx, all)
	return outcomes, errors.Join(err, b.after)
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
	seed := shop.Seed{Customers: 2, Products: 3, Stock: 10, Balance: 1_000_000}
	db := shoptest.Open(t, config, seed, shop.Components()...)
	last := &brokenShipping{Shipping: shoptest.On(db).Shipping}
	return db, on(db, last, false), last
}

// on returns a shop on a database.
func on(db *database.DB, last coordination.Shipping, batch bool) *orders.Orders {
	all := shoptest.On(db)
	coordinator := local.New(db, all.Book, local.Components{
		Reference: coordination.Asked{Catalog: all.Catalog, Customers: all.Customers},
		Reserve:   all.Inventory.ReserveAll, Charge: all.Payments.ChargeAll, Commit: all.Inventory.CommitAll,
		Ship: last.ShipAll, Recall: last.Recall, Restock: all.Inventory.Restock, Refund: all.Payments.Refund,
	}, batch)
	return orders.New(all.Book, coordinator)
}

func rows(t *testing.T, db *database.DB) (all int64) {
	t.Helper()
	for _, table := range []string{"orders", "order_lines", "reservations", "payments", "shipments"} {
		all += shoptest.Number(t, db, "SELECT COUNT(*) FROM "+table)
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
		for _, broken := range []brokenShipping{{before: fault}, {after: fault},
			{before: rpc.Problemf(rpc.Unavailable, "gone")}} {
			last.before = broken.before
			last.after = broken.after
			if _, err := service.CreateOrder(ctx, request("k", 1, 2)); err == nil {
				t.Fatal("no error")
			}
			if n := rows(t, db); n != 0 {
				t.Fatalf("%d rows are left", n)
			}
		}
		last.before = nil
		last.after = nil
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
		return database.Counters{Statements: after.Statements - before.Statements,
			Commits: after.Commits - before.Commits, Rollbacks: after.Rollbacks - before.Rollbacks}
	}
	const perOrder = 12
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

// TestOrdersShareATransaction places orders at the same time. Each has the same outcome as alone: a refused
// order is rejected and leaves no other trace, a key makes one order, and a failure concerns one order only.
// Long because of its table.
func TestOrdersShareATransaction(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db, _, last := open(t, fresh(t))
		service := on(db, last, true)
		kinds := []struct {
			state, why string
			ask        func(in *shoppb.CreateOrderRequest)
		}{
			{string(shop.StateConfirmed), "", func(*shoppb.CreateOrderRequest) {}},
			{string(shop.StateConfirmed), "", func(in *shoppb.CreateOrderRequest) {
				in.Lines = request("", 3, 1).GetLines()
			}},
			{string(shop.StateRejected), string(shop.UnknownProduct),
				func(in *shoppb.CreateOrderRequest) { in.Lines[1].ProductId = 77 }},
			{string(shop.StateRejected), string(shop.UnknownCustomer),
				func(in *shoppb.CreateOrderRequest) { in.CustomerId, in.Lines[1].ProductId = 77, 77 }},
			{string(shop.StateRejected), string(shop.OutOfStock),
				func(in *shoppb.CreateOrderRequest) { in.Lines[0].Quantity = 501 }},
			{string(shop.StateRejected), string(shop.Declined),
				func(in *shoppb.CreateOrderRequest) { in.CustomerId = 2 }},
		}
		shoptest.Exec(t, db, "UPDATE stock SET on_hand = 500")
		shoptest.Exec(t, db, "UPDATE accounts SET balance_cents = 0 WHERE customer_id = 2")
		const number = 72
		before := db.Counters().Commits
		var all sync.WaitGroup
		ids := make([]string, 2*number)
		for n := range 2 * number { // each key twice
			all.Go(func() {
				kind := kinds[n%number%len(kinds)]
				in := request(fmt.Sprint("key-", n%number), 1, 2)
				kind.ask(in)
				created, err := service.CreateOrder(t.Context(), in)
				order := created.GetOrder()
				if err != nil || order.GetState() != kind.state || order.GetRejection().GetKind() != kind.why {
					t.Errorf("order %d: %v, error %v, want %s %s", n, order, err, kind.state, kind.why)
				}
				ids[n] = order.GetOrderId()
			})
		}
		all.Wait()
		for n := range number {
			if ids[n] != ids[n+number] {
				t.Errorf("key %d made two orders", n)
			}
		}
		// Rejections are recorded one by one.
		if commits := db.Counters().Commits - before; commits >= number {
			t.Errorf("%d commits for %d orders: none have shared one", commits, number)
		}
		shoptest.Expect(t, db, map[string]int64{
			"SELECT COUNT(*) FROM orders":                                 number,
			"SELECT COUNT(*) FROM shipments":                              number / 3,
			"SELECT COUNT(*) FROM payments WHERE state = 'captured'":      number / 3,
			"SELECT COUNT(*) FROM reservations WHERE state = 'committed'": 2 * number / 3,
			"SELECT SUM(sold) FROM stock":                                 2 * number / 3,
			"SELECT COUNT(*) FROM reservations":                           2 * number / 3,
		})
	})
}

// TestNobodyIsRefusedForWhatIsUndone: a customer who cannot pay does not take the last piece from one who
// orders at the same time and can pay.
func TestNobodyIsRefusedForWhatIsUndone(t *testing.T) {
	db, _, last := open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/shop.db"})
	service := on(db, last, true)
	shoptest.Exec(t, db, "UPDATE accounts SET balance_cents = 0 WHERE customer_id = 2")
	for round := range 30 {
		shoptest.Exec(t, db, "UPDATE stock SET on_hand = 1")
		var all sync.WaitGroup
		for n, want := range []shop.State{shop.StateConfirmed, shop.StateRejected, shop.StateConfirmed,
			shop.StateRejected} {
			product, customer := int64(1+n/2), int64(1)
			if want == shop.StateRejected {
				product, customer = 2, 2
			}
			all.Go(func() {
				in := request(fmt.Sprintf("key-%d-%d", round, n), product)
				in.CustomerId = customer
				created, err := service.CreateOrder(t.Context(), in)
				if err != nil || created.GetOrder().GetState() != string(want) {
					t.Errorf("round %d, customer %d, product %d: %v, error %v, want %s", round, customer, product,
						created.GetOrder(), err, want)
				}
			})
		}
		all.Wait()
	}
}
