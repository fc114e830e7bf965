package steps_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// whole is a shop on one database.
type whole struct {
	db        *database.DB
	inventory *inventory.Inventory
	payments  *payments.Payments
	shipping  *shipping.Shipping
	book      *orders.Book
	final     []string          // orders that became final
	refused   map[string]string // why, by step and order
}

func newWhole(t *testing.T, config database.Config) *whole {
	t.Helper()
	w := &whole{db: databasetest.Open(t, config), refused: map[string]string{}}
	seed := shop.Seed{Customers: 40, Products: 70, Stock: 10, Balance: 200}
	if err := errors.Join(schema.Migrate(t.Context(), w.db, shop.Components()...), schema.Load(t.Context(), w.db, seed, shop.Components()...)); err != nil {
		t.Fatal(err)
	}
	w.inventory, w.payments, w.shipping = inventory.New(w.db), payments.New(w.db), shipping.New(w.db)
	w.book = orders.NewBook(w.db).Watch(func(order string) { w.final = append(w.final, order) })
	return w
}

// someOrders are more than one statement takes, with up to three lines each.
func someOrders(number int) []*shoppb.Order {
	random := rand.New(rand.NewPCG(7, 7))
	all := make([]*shoppb.Order, number)
	for n := range all {
		order := &shoppb.Order{
			OrderId: fmt.Sprintf("0190b3d5-0000-7000-8000-%012d", n), IdempotencyKey: fmt.Sprint("key-", n), CustomerId: 1 + random.Int64N(40),
			State: string(shop.StatePending), Version: 1, CreatedUnixUs: int64(n),
		}
		for _, product := range random.Perm(70)[:1+random.IntN(3)] {
			line := &shoppb.OrderLine{ProductId: int64(product) + 1, Name: "thing", Quantity: 1 + random.Int64N(4), UnitPriceCents: 10}
			order.Lines = append(order.Lines, line)
			order.TotalCents += line.Quantity * line.UnitPriceCents
		}
		all[n] = order
	}
	return all
}

func reservation(order *shoppb.Order) *shoppb.ReserveRequest {
	in := &shoppb.ReserveRequest{OrderId: order.GetOrderId()}
	for _, line := range order.GetLines() {
		in.Lines = append(in.Lines, &shoppb.Line{ProductId: line.GetProductId(), Quantity: line.GetQuantity()})
	}
	return in
}

func charge(order *shoppb.Order) *shoppb.AuthoriseRequest {
	return &shoppb.AuthoriseRequest{OrderId: order.GetOrderId(), CustomerId: order.GetCustomerId(), AmountCents: order.GetTotalCents()}
}

func shipment(order *shoppb.Order) *shoppb.ShipRequest {
	return &shoppb.ShipRequest{OrderId: order.GetOrderId(), Recipient: "Ann", Address: "Here 1"}
}

func id(order *shoppb.Order) string { return order.GetOrderId() }

// each makes what is asked for all orders.
func each[Q any](all []*shoppb.Order, ask func(*shoppb.Order) Q) []Q {
	asked := make([]Q, len(all))
	for i, order := range all {
		asked[i] = ask(order)
	}
	return asked
}

// together takes a step for many orders in one transaction, undone where the orders
// are not plain.
func (w *whole) together(t *testing.T, step func(ctx context.Context) (bool, error)) bool {
	t.Helper()
	undo := errors.New("not plain")
	err := w.db.Do(t.Context(), func(ctx context.Context) error {
		plain, err := step(ctx)
		if err == nil && !plain {
			err = undo
		}
		return err
	})
	if err != nil && !errors.Is(err, undo) {
		t.Fatal(err)
	}
	return err == nil
}

// allTogether takes all steps for all orders.
func (w *whole) allTogether(t *testing.T, all []*shoppb.Order) {
	t.Helper()
	if taken, err := w.book.RecordAll(t.Context(), all); err != nil || len(taken) > 0 {
		t.Fatalf("taken %v (%v)", taken, err)
	}
	for name, step := range map[string]func(ctx context.Context) (bool, error){
		"ReserveAll": w.reserveAll(all),
		"ChargeAll":  w.chargeAll(all),
		"ShipAll":    func(ctx context.Context) (bool, error) { return w.shipping.ShipAll(ctx, each(all, shipment)) },
		"ConfirmAll": func(ctx context.Context) (bool, error) { return w.book.ConfirmAll(ctx, each(all, id)) },
	} {
		if !w.together(t, step) {
			t.Errorf("%s: the orders are not plain", name)
		}
	}
	reserved := slices.DeleteFunc(slices.Clone(all), func(order *shoppb.Order) bool { return w.refused["reserve "+id(order)] != "" })
	if !w.together(t, func(ctx context.Context) (bool, error) { return w.inventory.CommitAll(ctx, each(reserved, id)) }) {
		t.Error("CommitAll: the orders are not plain")
	}
}

func (w *whole) reserveAll(all []*shoppb.Order) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		refused, plain, err := w.inventory.ReserveAll(ctx, each(all, reservation))
		w.refuse("reserve", all, refused)
		return plain, err
	}
}

func (w *whole) chargeAll(all []*shoppb.Order) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		refused, plain, err := w.payments.ChargeAll(ctx, each(all, charge))
		w.refuse("charge", all, refused)
		return plain, err
	}
}

// refuse remembers what was refused, and why.
func (w *whole) refuse(step string, all []*shoppb.Order, refused []*shoppb.Rejection) {
	for i, why := range refused {
		if why != nil {
			w.refused[step+" "+id(all[i])] = why.GetKind()
		}
	}
}

// oneByOne takes all steps for all orders, each for itself.
func (w *whole) oneByOne(t *testing.T, all []*shoppb.Order) {
	t.Helper()
	ctx := t.Context()
	for _, order := range all {
		step := &shoppb.StepRequest{OrderId: order.GetOrderId()}
		recorded := w.book.Record(ctx, order)
		_, reserved := w.inventory.Reserve(ctx, reservation(order))
		if why, refused := shop.Rejects(reserved); refused {
			w.refuse("reserve", []*shoppb.Order{order}, []*shoppb.Rejection{why})
			_, reserved = w.inventory.Release(ctx, step)
		} else if reserved == nil {
			_, reserved = w.inventory.Commit(ctx, step)
		}
		_, charged := w.payments.Charge(ctx, charge(order))
		if why, refused := shop.Rejects(charged); refused {
			w.refuse("charge", []*shoppb.Order{order}, []*shoppb.Rejection{why})
			_, charged = w.payments.Void(ctx, step)
		}
		_, shipped := w.shipping.Ship(ctx, shipment(order))
		_, confirmed := w.book.Advance(ctx, order.GetOrderId(), shop.StatePending, shop.StateConfirmed, nil)
		if err := errors.Join(recorded, reserved, charged, shipped, confirmed); err != nil {
			t.Fatal(err)
		}
	}
}

// content is what the tables hold. The version of a product counts statements, so
// it may differ.
func (w *whole) content(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, query := range []string{
		"SELECT product_id, on_hand, reserved, sold, '' FROM stock ORDER BY product_id",
		"SELECT order_id, line, product_id, quantity, state FROM reservations ORDER BY order_id, line",
		"SELECT customer_id, balance_cents, held_cents, '', '' FROM accounts ORDER BY customer_id",
		"SELECT order_id, customer_id, amount_cents, state, '' FROM payments ORDER BY order_id",
		"SELECT order_id, recipient, address, state, '' FROM shipments ORDER BY order_id",
		"SELECT order_id, idempotency_key, customer_id, total_cents, state FROM orders ORDER BY order_id",
		"SELECT order_id, rejection_kind, rejection_detail, version, created_unix_us FROM orders ORDER BY order_id",
		"SELECT order_id, line, product_id, name, quantity FROM order_lines ORDER BY order_id, line",
	} {
		err := w.db.Each(t.Context(), func(row database.Row) error {
			var columns [5]string
			err := row.Scan(&columns[0], &columns[1], &columns[2], &columns[3], &columns[4])
			found = append(found, query[7:20]+" "+strings.Join(columns[:], "|"))
			return err
		}, query)
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestManyTogetherAreAsManyOneByOne takes the same orders through two shops, in which
// some products sell out and some customers cannot pay.
func TestManyTogetherAreAsManyOneByOne(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		all := someOrders(200)
		all[77].CustomerId = 41 // who has no account
		together, oneByOne := newWhole(t, open(t)), newWhole(t, open(t))
		together.allTogether(t, all)
		oneByOne.oneByOne(t, all)
		got, want := together.content(t), oneByOne.content(t)
		if !slices.Equal(got, want) {
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("row %d of %d and %d: %q together, %q one by one", i, len(got), len(want), got[min(i, len(got)-1)], want[i])
				}
			}
		}
		expectJournals(t, together, oneByOne)
		if len(together.refused) < 20 || len(together.refused) > 200 || !maps.Equal(together.refused, oneByOne.refused) {
			t.Errorf("%d refused together, %d one by one", len(together.refused), len(oneByOne.refused))
		}
		slices.Sort(together.final)
		slices.Sort(oneByOne.final)
		if !slices.Equal(together.final, oneByOne.final) || len(together.final) != len(all) {
			t.Errorf("%d of %d orders were told to be final together, %d one by one", len(together.final), len(all), len(oneByOne.final))
		}
	})
}

// TestManyAreNotPlainWhereOneIsNot spoils one of many orders.
func TestManyAreNotPlainWhereOneIsNot(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		w := newWhole(t, open(t))
		all := someOrders(3)
		w.oneByOne(t, all[:1])
		for name, step := range map[string]func(ctx context.Context) (bool, error){
			"reserved before":  w.reserveAll(all),
			"never reserved":   func(ctx context.Context) (bool, error) { return w.inventory.CommitAll(ctx, each(all[1:], id)) },
			"committed before": func(ctx context.Context) (bool, error) { return w.inventory.CommitAll(ctx, each(all[:1], id)) },
			"charged before":   w.chargeAll(all),
			"shipped before":   func(ctx context.Context) (bool, error) { return w.shipping.ShipAll(ctx, each(all, shipment)) },
			"confirmed before": func(ctx context.Context) (bool, error) { return w.book.ConfirmAll(ctx, each(all, id)) },
			"no order":         w.reserveAll([]*shoppb.Order{all[1], {OrderId: "short"}}),
			"no amount":        w.chargeAll([]*shoppb.Order{all[1], {OrderId: all[2].GetOrderId()}}),
			"the same order twice": func(ctx context.Context) (bool, error) {
				return w.shipping.ShipAll(ctx, each([]*shoppb.Order{all[1], all[1]}, shipment))
			},
		} {
			before := w.content(t)
			if w.together(t, step) {
				t.Errorf("%s: counts as plain", name)
			}
			if !slices.Equal(before, w.content(t)) {
				t.Errorf("%s: left a trace", name)
			}
		}
	})
}

// TestRecordAllLeavesOutTakenKeys has keys that are on record, and one key twice.
func TestRecordAllLeavesOutTakenKeys(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		w := newWhole(t, open(t))
		all := someOrders(60)
		if err := w.book.Record(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		repeated := someOrders(61)[60]
		repeated.IdempotencyKey = all[0].IdempotencyKey
		same := someOrders(62)[61]
		same.IdempotencyKey = all[59].IdempotencyKey
		rejected := someOrders(63)[62]
		rejected.State, rejected.Rejection = string(shop.StateRejected), &shoppb.Rejection{Kind: string(shop.UnknownProduct)}
		taken, err := w.book.RecordAll(t.Context(), append(all[1:], repeated, same, rejected))
		if err != nil || len(taken) != 2 || !taken[repeated.GetOrderId()] || !taken[same.GetOrderId()] {
			t.Fatalf("taken %v (%v)", taken, err)
		}
		if got, err := w.book.Get(t.Context(), all[59].GetOrderId()); err != nil || len(got.GetLines()) != len(all[59].GetLines()) {
			t.Errorf("order %v (%v)", got, err)
		}
		if _, err := w.book.Get(t.Context(), same.GetOrderId()); !shop.IsKind(err, shop.NotFound) {
			t.Errorf("an order whose key was taken left a trace (%v)", err)
		}
		if want := []string{rejected.GetOrderId()}; !slices.Equal(w.final, want) {
			t.Errorf("told as final: %v, want %v", w.final, want)
		}
	})
}
