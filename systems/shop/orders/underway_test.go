package orders_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// book is a book that counts the calls of its watcher by order.
type book struct {
	*orders.Book
	db    *database.DB
	final map[string]int
}

func open(t *testing.T, config database.Config) book {
	t.Helper()
	b := book{db: shoptest.Open(t, config, shop.Seed{}, shop.ComponentOrders), final: map[string]int{}}
	b.Book = orders.NewBook(b.db, orders.BySQL(b.db)).Watch(func(id string) { b.final[id]++ })
	return b
}

func pending(key string) *shoppb.Order {
	return &shoppb.Order{
		OrderId: uuid.Must(uuid.NewV7()).String(), IdempotencyKey: key, CustomerId: 1, TotalCents: 5,
		State: string(shop.StatePending), Version: 1,
		Lines: []*shoppb.OrderLine{{ProductId: 1, Name: "n", Quantity: 1, UnitPriceCents: 5}},
	}
}

// begin begins an order under a lease.
func (b book) begin(t *testing.T, key string, lease int64) orders.Underway {
	t.Helper()
	order := pending(key)
	testset.Must(t, b.Begin(t.Context(), orders.Beginning{Order: order, Lease: lease}))
	return orders.Underway{Order: order.GetOrderId(), State: shop.StatePending, Lease: lease}
}

// expect checks the state of an order on record, how often its watcher was called, and how many orders are
// still under way.
func (b book) expect(t *testing.T, id string, state shop.State, finals int, underway int64) {
	t.Helper()
	order, err := b.Get(t.Context(), id)
	testset.Must(t, err)
	left, err := orders.CountUnderway(t.Context(), b.db)
	testset.Must(t, err)
	if order.GetState() != string(state) || b.final[id] != finals || left != underway {
		t.Errorf("order %v, reported final %d times, %d under way; want %s, %d, %d", order, b.final[id], left,
			state, finals, underway)
	}
	if (order.GetRejection() != nil) != (state == shop.StateRejected) {
		t.Errorf("a %s order with rejection %v", state, order.GetRejection())
	}
}

// TestALostLeaseAllowsNoWrites: after another coordinator has taken an order over, the former
// one can neither end it nor turn it back.
func TestALostLeaseAllowsNoWrites(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		b := open(t, fresh(t))
		ctx := t.Context()
		reason := &shoppb.Rejection{Kind: "declined", Detail: "d"}
		late := b.begin(t, "k", 100)
		if found, err := b.Abandoned(ctx, 100); err != nil || len(found) != 0 {
			t.Errorf("within the lease: %v, %v", found, err)
		}
		found, err := b.Abandoned(ctx, 101)
		if err != nil || len(found) != 1 || found[0] != late {
			t.Fatalf("after the lease: %v, %v", found, err)
		}
		holder, err := b.Take(ctx, found[0], 200)
		testset.Must(t, err)
		_, turned := b.Turn(ctx, late, reason)
		_, taken := b.Take(ctx, late, 300)
		if arrived := b.Arrive(ctx, late); !errors.Is(arrived, orders.ErrOvertaken) ||
			!errors.Is(turned, orders.ErrOvertaken) || !errors.Is(taken, orders.ErrOvertaken) {
			t.Errorf("the late one: arrive %v, turn %v, take %v", arrived, turned, taken)
		} else if !shop.IsKind(arrived, rpc.DeadlineExceeded) || !shop.IsKind(turned, rpc.DeadlineExceeded) {
			t.Errorf("the late one failed inside: arrive %v, turn %v", arrived, turned)
		}
		b.expect(t, late.Order, shop.StatePending, 0, 1)
		if holder, err = b.Turn(ctx, holder, reason); err != nil {
			t.Fatal(err)
		}
		b.expect(t, late.Order, shop.StatePending, 0, 1)
		if found, err = b.Abandoned(ctx, 201); err != nil || len(found) != 1 ||
			found[0].Reason.GetDetail() != "d" {
			t.Errorf("an order that goes back: %v, %v", found, err)
		}
		testset.Must(t, b.Arrive(ctx, holder))
		b.expect(t, late.Order, shop.StateRejected, 1, 0)
	})
}

// errorsOf takes a step for a batch in one transaction and returns the error of each outcome.
func errorsOf[Q any](
	t *testing.T, db *database.DB, all []Q, step func(context.Context, []Q) ([]steps.Outcome, error),
) []error {
	t.Helper()
	errs := make([]error, len(all))
	err := db.Do(t.Context(), func(ctx context.Context) error {
		outcomes, err := step(ctx, all)
		for i, outcome := range outcomes {
			errs[i] = outcome.Err
		}
		return err
	})
	testset.Must(t, err)
	return errs
}

// TestManyBeginAndArrive: each of a batch has its own outcome.
func TestManyBeginAndArrive(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		b := open(t, fresh(t))
		ctx := t.Context()
		var begun []orders.Beginning
		var all []orders.Underway
		for n := range int64(40) {
			order := pending(uuid.NewString())
			begun = append(begun, orders.Beginning{Order: order, Lease: 100 + n})
			all = append(all, orders.Underway{Order: order.GetOrderId(), State: shop.StatePending, Lease: 100 + n})
		}
		begin := func(some []orders.Beginning) []error { return errorsOf(t, b.db, some, b.BeginAll) }
		arrive := func(some []orders.Underway) []error { return errorsOf(t, b.db, some, b.ArriveAll) }
		testset.Must(t, errors.Join(begin(begun)...))
		b.expect(t, all[7].Order, shop.StatePending, 0, 40)
		again := []orders.Beginning{{Order: pending("new"), Lease: 1},
			{Order: pending(begun[3].Order.GetIdempotencyKey()), Lease: 1}}
		if errs := begin(again); errs[0] != nil || !errors.Is(errs[1], orders.ErrKeyTaken) {
			t.Errorf("a key twice: %v", errs)
		}
		// One was overtaken, and one goes back.
		wrong := append([]orders.Underway{}, all[:5]...)
		wrong[2].Lease++ // the lease of the fourth
		wrong[4].Reason = &shoppb.Rejection{Kind: "declined"}
		for i, err := range arrive(wrong) {
			if (i == 2) != errors.Is(err, orders.ErrOvertaken) || i != 2 && err != nil {
				t.Errorf("order %d: %v", i, err)
			}
		}
		b.expect(t, all[2].Order, shop.StatePending, 0, 37)
		if order, err := b.Get(ctx, all[4].Order); err != nil || order.GetState() != string(shop.StateRejected) {
			t.Errorf("an order that went back: %v, %v", order, err)
		}
		for i, err := range arrive(all) {
			if (i < 5 && i != 2) != errors.Is(err, orders.ErrOvertaken) {
				t.Errorf("order %d: %v", i, err)
			}
		}
		b.expect(t, all[7].Order, shop.StateConfirmed, 1, 1) // and "new"
	})
}

func TestACancelledOrderIsHeldUntilItIsUndone(t *testing.T) {
	b := open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/db"})
	ctx := t.Context()
	order := b.begin(t, "k", 100)
	if _, _, err := b.BeginCancel(ctx, order.Order, 200); !shop.IsKind(err, shop.Conflict) {
		t.Errorf("a pending order: %v", err)
	}
	testset.Must(t, b.Arrive(ctx, order))
	undone, moved, err := b.BeginCancel(ctx, order.Order, 200)
	if err != nil || !moved {
		t.Fatalf("moved %v, %v", moved, err)
	}
	b.expect(t, order.Order, shop.StateCancelled, 1, 1)
	if _, moved, err := b.BeginCancel(ctx, order.Order, 300); err != nil || moved {
		t.Errorf("again: moved %v, %v", moved, err)
	}
	if found, err := b.Abandoned(ctx, 201); err != nil || len(found) != 1 || found[0] != undone {
		t.Errorf("abandoned: %v, %v", found, err)
	}
	testset.Must(t, b.EndCancel(ctx, undone))
	b.expect(t, order.Order, shop.StateCancelled, 1, 0)
}
