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
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/mapped"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/steps"
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
	seed := shop.Seed{Customers: 40, Products: 70, Stock: 10, Balance: 200}
	w := &whole{db: shoptest.Open(t, config, seed, shop.Components()...), refused: map[string]string{}}
	all := shoptest.On(w.db)
	w.inventory = all.Inventory
	w.payments = all.Payments
	w.shipping = all.Shipping
	w.book = all.Book.Watch(func(order string) { w.final = append(w.final, order) })
	return w
}

// mapped makes the shop reach its tables by an ORM.
func (w *whole) mapped() {
	stores := mapped.Stores{}
	w.inventory = inventory.New(w.db, stores.Inventory(w.db), false)
	w.payments = payments.New(w.db, stores.Payments(w.db), false)
	w.shipping = shipping.New(w.db, stores.Shipping(w.db), false)
	w.book = orders.NewBook(w.db, stores.Orders(w.db))
	w.book.Watch(func(order string) { w.final = append(w.final, order) })
}

// someOrders are more than one statement takes, with up to three lines each.
func someOrders(number int) []*shoppb.Order {
	random := rand.New(rand.NewPCG(7, 7))
	all := make([]*shoppb.Order, number)
	for n := range all {
		order := &shoppb.Order{
			OrderId: fmt.Sprintf("0190b3d5-0000-7000-8000-%012d", n), IdempotencyKey: fmt.Sprint("key-", n),
			CustomerId: 1 + random.Int64N(40),
			State:      string(shop.StatePending), Version: 1, CreatedUnixUs: int64(n),
		}
		for _, product := range random.Perm(70)[:1+random.IntN(3)] {
			line := &shoppb.OrderLine{ProductId: int64(product) + 1, Name: "thing", Quantity: 1 + random.Int64N(4),
				UnitPriceCents: 10}
			order.Lines = append(order.Lines, line)
			order.TotalCents += line.Quantity * line.UnitPriceCents
		}
		all[n] = order
	}
	return all
}

func shipment(order *shoppb.Order) *shoppb.ShipRequest {
	return &shoppb.ShipRequest{OrderId: order.GetOrderId(), Recipient: "Ann", Address: "Here 1"}
}

func beginning(order *shoppb.Order) orders.Beginning { return orders.Beginning{Order: order} }

// together takes a step for many orders in one transaction, and returns their outcomes.
func together[Q any](
	t *testing.T, w *whole, all []*shoppb.Order, asks func(*shoppb.Order) Q,
	take func(context.Context, []Q) ([]steps.Outcome, error),
) []steps.Outcome {
	t.Helper()
	var outcomes []steps.Outcome
	err := w.db.Do(t.Context(), func(ctx context.Context) (err error) {
		outcomes, err = take(ctx, ask(all, asks))
		return err
	})
	testset.Must(t, err)
	return outcomes
}

// bare takes a step without a transaction around it.
func bare[Q any](
	t *testing.T, all []*shoppb.Order, asks func(*shoppb.Order) Q,
	take func(context.Context, []Q) ([]steps.Outcome, error),
) []steps.Outcome {
	t.Helper()
	outcomes, err := take(t.Context(), ask(all, asks))
	testset.Must(t, err)
	return outcomes
}

func ask[Q any](all []*shoppb.Order, asks func(*shoppb.Order) Q) []Q {
	asked := make([]Q, len(all))
	for i, order := range all {
		asked[i] = asks(order)
	}
	return asked
}

// allTogether takes all steps for all orders.
func (w *whole) allTogether(t *testing.T, all []*shoppb.Order) {
	t.Helper()
	good := func(outcomes []steps.Outcome) {
		t.Helper()
		for i, outcome := range outcomes {
			if outcome.Err != nil || outcome.Repeat {
				t.Errorf("order %d: %+v", i, outcome)
			}
		}
	}
	good(together(t, w, all, beginning, w.book.BeginAll))
	reserved, short := w.sort("reserve", all,
		together(t, w, all, coordination.Reservation, w.inventory.ReserveAll))
	good(together(t, w, short, coordination.Step, w.inventory.ReleaseAll))
	_, declined := w.sort("charge", all, together(t, w, all, coordination.Charge, w.payments.ChargeAll))
	good(together(t, w, declined, coordination.Step, w.payments.VoidAll))
	good(together(t, w, reserved, coordination.Step, w.inventory.CommitAll))
	good(together(t, w, all, shipment, w.shipping.ShipAll))
	good(together(t, w, all, coordination.Step, w.book.ConfirmAll))
}

// sort separates the orders that were refused from the others, and records the reasons.
func (w *whole) sort(
	name string, all []*shoppb.Order, outcomes []steps.Outcome,
) (taken, refused []*shoppb.Order) {
	for i, outcome := range outcomes {
		if outcome.Err == nil {
			taken = append(taken, all[i])
			continue
		}
		refused = append(refused, all[i])
		w.refused[name+" "+all[i].GetOrderId()] = outcome.Err.Error()
	}
	return taken, refused
}

// oneByOne takes all steps for all orders, each for itself.
func (w *whole) oneByOne(t *testing.T, all []*shoppb.Order) {
	t.Helper()
	ctx := t.Context()
	for _, order := range all {
		one := []*shoppb.Order{order}
		recorded := w.book.Record(ctx, order)
		_, reserved := w.inventory.Reserve(ctx, coordination.Reservation(order))
		if _, refused := shop.Rejects(reserved); refused {
			w.sort("reserve", one, []steps.Outcome{{Err: reserved}})
			_, reserved = w.inventory.Release(ctx, coordination.Step(order))
		} else if reserved == nil {
			_, reserved = w.inventory.Commit(ctx, coordination.Step(order))
		}
		_, charged := w.payments.Charge(ctx, coordination.Charge(order))
		if _, refused := shop.Rejects(charged); refused {
			w.sort("charge", one, []steps.Outcome{{Err: charged}})
			_, charged = w.payments.Void(ctx, coordination.Step(order))
		}
		_, shipped := w.shipping.Ship(ctx, shipment(order))
		_, confirmed := w.book.Advance(ctx, order.GetOrderId(), shop.StatePending, shop.StateConfirmed, nil)
		testset.Must(t, errors.Join(recorded, reserved, charged, shipped, confirmed))
	}
}

// content returns the rows of the tables as text. The version of a product counts statements, so
// it may differ.
func (w *whole) content(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, query := range []string{
		"SELECT product_id, on_hand, reserved, sold, '' FROM stock ORDER BY product_id",
		"SELECT order_id, line, product_id, quantity, state FROM reservations ORDER BY order_id, line",
		"SELECT customer_id, balance_cents, '', '', '' FROM accounts ORDER BY customer_id",
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
		testset.Must(t, err)
	}
	return found
}

// TestManyTogetherAreAsManyOneByOne takes the same orders through shops in which some products sell out and
// some customers cannot pay: one by one and together, by SQL and by an ORM.
func TestManyTogetherAreAsManyOneByOne(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		all := someOrders(200)
		all[77].CustomerId = 41 // who has no account
		oneByOne := newWhole(t, open(t))
		together := newWhole(t, open(t))
		byORM := newWhole(t, open(t))
		byORM.mapped()
		oneByOne.oneByOne(t, all)
		together.allTogether(t, all)
		byORM.oneByOne(t, all[:100])
		byORM.allTogether(t, all[100:])
		if len(oneByOne.refused) < 20 || len(oneByOne.refused) > 200 || len(oneByOne.final) != len(all) {
			t.Errorf("%d refused and %d final of %d", len(oneByOne.refused), len(oneByOne.final), len(all))
		}
		t.Run("together", func(t *testing.T) { together.expectAs(t, oneByOne) })
		t.Run("by an ORM", func(t *testing.T) { byORM.expectAs(t, oneByOne) })
	})
}

// expectAs expects the tables and the outcomes of another shop.
func (w *whole) expectAs(t *testing.T, other *whole) {
	t.Helper()
	got := w.content(t)
	want := other.content(t)
	if !slices.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("row %d of %d and %d: %q, want %q as one by one", i, len(got), len(want),
					got[min(i, len(got)-1)], want[i])
			}
		}
	}
	expectJournals(t, w, other)
	if !maps.Equal(w.refused, other.refused) {
		t.Errorf("%d refused, %d one by one", len(w.refused), len(other.refused))
	}
	slices.Sort(w.final)
	slices.Sort(other.final)
	if !slices.Equal(w.final, other.final) {
		t.Errorf("%d orders were told to be final, %d one by one", len(w.final), len(other.final))
	}
}

// TestEachOfABatchHasItsOwnOutcome takes batches of orders that are new, known, in the batch
// twice, too late, or malformed. Their outcomes are those of the same orders one by one.
// Long because it is a table.
func TestEachOfABatchHasItsOwnOutcome(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		w := newWhole(t, open(t))
		all := someOrders(8)
		done := all[0]
		undone := all[1]
		half := all[2]
		fresh := all[3]
		released := all[4]
		bad := all[5]
		none := all[6]
		none.Lines = nil
		none.TotalCents = 0
		bad.OrderId = "no id!"
		w.allTogether(t, []*shoppb.Order{done, undone})
		_, restocked := w.inventory.Restock(t.Context(), coordination.Step(undone))
		_, refunded := w.payments.Refund(t.Context(), coordination.Step(undone))
		_, recalled := w.shipping.Recall(t.Context(), coordination.Step(undone))
		_, reserved := w.inventory.Reserve(t.Context(), coordination.Reservation(half))
		_, charged := w.payments.Charge(t.Context(), coordination.Charge(half))
		_, unreserved := w.inventory.Release(t.Context(), coordination.Step(released))
		_, voided := w.payments.Void(t.Context(), coordination.Step(released))
		recorded := errors.Join(w.book.Record(t.Context(), half), w.book.Record(t.Context(), fresh))
		testset.Must(t, errors.Join(restocked, refunded, recalled, reserved, charged, unreserved, voided,
			recorded))
		mixed := []*shoppb.Order{done, fresh, undone, half, bad, released, none, fresh}
		for _, c := range []struct {
			name     string
			outcomes []steps.Outcome
			want     string
		}{
			{"reserve", together(t, w, mixed, coordination.Reservation, w.inventory.ReserveAll),
				"repeat, taken, conflict, repeat, invalid-argument, conflict, invalid-argument, repeat"},
			{"charge", together(t, w, mixed, coordination.Charge, w.payments.ChargeAll),
				"repeat, taken, conflict, repeat, invalid-argument, conflict, invalid-argument, repeat"},
			{"commit", together(t, w, mixed, coordination.Step, w.inventory.CommitAll),
				"repeat, taken, conflict, taken, invalid-argument, conflict, conflict, repeat"},
			{"confirm", together(t, w, mixed, coordination.Step, w.book.ConfirmAll),
				"repeat, taken, repeat, taken, invalid-argument, not-found, not-found, repeat"},
			{"release", together(t, w, mixed, coordination.Step, w.inventory.ReleaseAll),
				"conflict, conflict, conflict, conflict, invalid-argument, repeat, taken, conflict"},
			{"void", together(t, w, mixed, coordination.Step, w.payments.VoidAll),
				"conflict, conflict, conflict, conflict, invalid-argument, repeat, taken, conflict"},
			{"ship", together(t, w, mixed, shipment, w.shipping.ShipAll),
				"taken, taken, conflict, taken, invalid-argument, taken, taken, repeat"}, // it reports no repeats
		} {
			if got := words(c.outcomes); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		paid := done.TotalCents + half.TotalCents + fresh.TotalCents
		shoptest.Expect(t, w.db, map[string]int64{
			"SELECT SUM(on_hand + reserved + sold) FROM stock":            70 * 10,
			"SELECT SUM(reserved) FROM stock":                             0,
			"SELECT COUNT(*) FROM payments WHERE state = 'captured'":      3,
			"SELECT COUNT(*) FROM shipments":                              6,
			"SELECT COUNT(*) FROM orders WHERE state = 'confirmed'":       4,
			"SELECT COUNT(*) FROM reservations WHERE state = 'reserved'":  0,
			"SELECT COUNT(*) FROM reservations WHERE product_id = 0":      2,
			"SELECT COUNT(*) FROM payments WHERE customer_id = 0":         2,
			"SELECT 40 * 200 - SUM(balance_cents) FROM accounts":          paid,
			"SELECT COUNT(*) FROM reservations WHERE state = 'restocked'": int64(len(undone.Lines)),
		})
	})
}

// words returns outcomes as words: taken, repeat, or the kind of the problem.
func words(outcomes []steps.Outcome) string {
	said := make([]string, len(outcomes))
	for i, outcome := range outcomes {
		switch problem := shop.ProblemOf(outcome.Err); {
		case problem != nil:
			said[i] = string(problem.Kind)
		case outcome.Repeat:
			said[i] = "repeat"
		default:
			said[i] = "taken"
		}
	}
	return strings.Join(said, ", ")
}

// brokenMoves are tables whose reservations cannot be moved to another state.
type brokenMoves struct{ inventory.Tables }

var errPlanted = errors.New("planted")

func (brokenMoves) Move(context.Context, []string, string, string, ...any) (int64, error) {
	return 0, errPlanted
}

// TestABatchWithANewOrderFailsAsAWhole where its database does: no order has an outcome then.
func TestABatchWithANewOrderFailsAsAWhole(t *testing.T) {
	w := newWhole(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/shop.db"})
	all := someOrders(2)
	if _, err := w.inventory.Reserve(t.Context(), coordination.Reservation(all[0])); err != nil {
		t.Fatal(err)
	}
	stock := inventory.New(w.db, brokenMoves{inventory.BySQL(w.db)}, false)
	outcomes, err := stock.ReleaseAll(t.Context(), ask(all, coordination.Step))
	if outcomes != nil || !errors.Is(err, errPlanted) {
		t.Errorf("outcomes %v, error %v", outcomes, err)
	}
}

// TestBeginAllLeavesOutTakenKeys: keys that are on record, and the second use of a key.
func TestBeginAllLeavesOutTakenKeys(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		w := newWhole(t, open(t))
		all := someOrders(63)
		testset.Must(t, w.book.Record(t.Context(), all[0]))
		repeated := all[60]
		same := all[61]
		rejected := all[62]
		repeated.IdempotencyKey = all[0].IdempotencyKey
		same.IdempotencyKey = all[59].IdempotencyKey
		rejected.State = string(shop.StateRejected)
		rejected.Rejection = &shoppb.Rejection{Kind: string(shop.UnknownProduct)}
		for i, outcome := range together(t, w, all[1:], beginning, w.book.BeginAll) {
			if taken := i == 59 || i == 60; taken != errors.Is(outcome.Err, orders.ErrKeyTaken) ||
				!taken && outcome.Err != nil {
				t.Errorf("order %d: %v", i+1, outcome.Err)
			}
		}
		if got, err := w.book.Get(t.Context(), all[59].GetOrderId()); err != nil ||
			len(got.GetLines()) != len(all[59].GetLines()) {
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

// TestStatementsOfABatch: one order costs a few statements, as if there were no batches,
// and a batch no more than a few for all.
func TestStatementsOfABatch(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		w := newWhole(t, open(t))
		all := someOrders(21)
		refused := someOrders(22)[21]
		refused.Lines[0].Quantity = 1000
		refused.TotalCents = 1_000_000
		for _, c := range []struct {
			name           string
			one, many, not int64 // not: one that is refused
			take           func(some []*shoppb.Order) []steps.Outcome
		}{
			{"begin", 2, 2, 2, func(some []*shoppb.Order) []steps.Outcome {
				return together(t, w, some, beginning, w.book.BeginAll)
			}},
			{"reserve", 2, 4, 2, func(some []*shoppb.Order) []steps.Outcome {
				return bare(t, some, coordination.Reservation, w.inventory.ReserveAll)
			}},
			{"commit", 3, 3, 1, func(some []*shoppb.Order) []steps.Outcome {
				return bare(t, some, coordination.Step, w.inventory.CommitAll)
			}},
			{"charge", 2, 4, 3, func(some []*shoppb.Order) []steps.Outcome {
				return bare(t, some, coordination.Charge, w.payments.ChargeAll)
			}},
			{"ship", 1, 1, 1, func(some []*shoppb.Order) []steps.Outcome {
				return together(t, w, some, shipment, w.shipping.ShipAll)
			}},
			{"confirm", 1, 2, 1, func(some []*shoppb.Order) []steps.Outcome {
				return together(t, w, some, coordination.Step, w.book.ConfirmAll)
			}},
		} {
			for _, size := range []struct {
				some []*shoppb.Order
				want int64
			}{{all[:1], c.one}, {all[1:], c.many}, {[]*shoppb.Order{refused}, c.not}} {
				before := w.db.Counters().Statements
				c.take(size.some)
				if got := w.db.Counters().Statements - before; got != size.want {
					t.Errorf("%s of %d orders: %d statements, want %d", c.name, len(size.some), got, size.want)
				}
			}
		}
	})
}
