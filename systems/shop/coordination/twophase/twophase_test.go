package twophase

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

func seed() shop.Seed {
	return shop.Seed{Customers: 2, Products: 3, Stock: 100, Balance: 10_000_000, Random: 1}
}

// lossy is a participant that loses a call, before or after it was carried out, and all calls after it, as if
// the coordinator were killed.
type lossy struct {
	shoppb.Participant
	calls *calls
}

// calls counts the calls of all participants.
type calls struct {
	mu    sync.Mutex
	made  int
	fail  int // the number of the first call that is lost; 0: none
	after bool
}

// lose makes a call, or loses it.
func lose[Q, A any](
	ctx context.Context, c *calls, in Q, call func(context.Context, Q) (A, error),
) (A, error) {
	c.mu.Lock()
	c.made++
	lost, after := c.fail > 0 && c.made >= c.fail, c.after && c.made == c.fail
	c.mu.Unlock()
	var none A
	if lost && !after {
		return none, rpc.Problemf(rpc.Unavailable, "the call is lost")
	}
	answer, err := call(ctx, in)
	if lost {
		return none, rpc.Problemf(rpc.Unavailable, "the answer is lost")
	}
	return answer, err
}

func (l lossy) Prepare(ctx context.Context, in *shoppb.PrepareRequest) (*shoppb.StepResponse, error) {
	return lose(ctx, l.calls, in, l.Participant.Prepare)
}

func (l lossy) End(ctx context.Context, in *shoppb.EndRequest) (*shoppb.StepResponse, error) {
	return lose(ctx, l.calls, in, l.Participant.End)
}

// world is a shop whose components have a database each. Units that are killed are started again in it.
type world struct {
	calls
	configs     map[string]database.Config
	databases   map[string]*database.DB
	ahead       time.Duration // of the coordinator's clock: leases are over when a test says so
	coordinator *Coordinator
	book        *orders.Book
	mutate      func(shoppb.Participant) shoppb.Participant
	history     shoptest.History
}

func newWorld(t *testing.T, driver database.Driver) *world {
	t.Helper()
	w := &world{configs: map[string]database.Config{}, databases: map[string]*database.DB{}, ahead: time.Minute,
		mutate: func(p shoppb.Participant) shoppb.Participant { return p }}
	for _, component := range shop.Components() {
		w.configs[component] = databasetest.Fresh(t, driver)
		db, err := database.Open(t.Context(), w.configs[component])
		testset.Must(t, err)
		testset.Must(t, errors.Join(schema.Create(t.Context(), db, component),
			schema.Load(t.Context(), db, seed(), component)))
		w.databases[component] = db
	}
	t.Cleanup(func() {
		for _, db := range w.databases {
			testset.Must(t, db.Close())
		}
	})
	w.join()
	return w
}

// join makes all components anew on their databases: they know nothing of what was before.
func (w *world) join() {
	participants := map[string]shoppb.Participant{}
	all := shoptest.OnEach(w.databases)
	for component, take := range map[string]Take{
		shop.ComponentInventory: Inventory(all.Inventory), shop.ComponentPayments: Payments(all.Payments),
		shop.ComponentShipping: Shipping(all.Shipping),
	} {
		here := Participant{component: {w.databases[component], take}}
		participants[component] = w.mutate(lossy{here, &w.calls})
	}
	w.book = all.Book
	w.coordinator = New(w.book, coordination.Asked{Catalog: all.Catalog, Customers: all.Customers},
		participants)
	w.coordinator.now = func() time.Time { return time.Now().Add(w.ahead) }
}

// restart kills all units and starts them again, when all leases are over; they finish what is left.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.fail = 0
	for component, config := range w.configs {
		testset.Must(t, w.databases[component].Close())
		db, err := database.Open(t.Context(), config)
		testset.Must(t, err)
		w.databases[component] = db
	}
	w.ahead += 2 * orders.Lease
	w.join()
	w.recover(t)
}

// recover finishes what is left. A server may not have noticed yet that a connection is gone.
func (w *world) recover(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		err := errors.Join(w.coordinator.Recover(t.Context()), w.coordinator.Resolve(t.Context()))
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		w.ahead += 2 * orders.Lease
	}
}

// place orders a quantity of product 1 and records the answer.
func (w *world) place(key string, quantity int64) (*shoppb.Order, error) {
	request := &shoppb.CreateOrderRequest{IdempotencyKey: key, CustomerId: 1,
		Lines: []*shoppb.Line{{ProductId: 1, Quantity: quantity}}}
	answer, err := orders.New(w.book, w.coordinator).CreateOrder(context.Background(), request)
	w.history.Add(audit.OperationCreate, request, answer.GetOrder(), err)
	return answer.GetOrder(), err
}

// judge audits the shop, with what is in doubt.
func (w *world) judge(t *testing.T) (verdict string, problems []string) {
	t.Helper()
	state, err := audit.Read(t.Context(), w.databases, false)
	testset.Must(t, err)
	left := map[string]int64{}
	left["sagas"], err = orders.CountUnderway(t.Context(), w.databases[shop.ComponentOrders])
	testset.Must(t, err)
	for component, db := range w.databases {
		names, err := db.Prepared(t.Context())
		testset.Must(t, err)
		left["transactions in doubt of "+component] = int64(len(names))
	}
	got := audit.Judge(audit.Input{Seed: seed(), Fresh: seed(), History: w.history, State: state,
		Coordination: audit.TwoPhase, Drained: true, Left: left})
	return string(got.Verdict), got.Problems
}

// TestKilledAtAnyCall kills the coordinator at every call of orders in turn, carried out and not, then all
// units, and starts them again: an order is confirmed, rejected or cancelled in all components or in none,
// whichever call it was, and nothing is in doubt. Among them are those between the decision and the
// commits.
func TestKilledAtAnyCall(t *testing.T) {
	testset.Need(t, "it starts database servers")
	for _, driver := range []database.Driver{database.MariaDB, database.PostgreSQL} {
		t.Run(string(driver), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, driver)
			number := 2 * len(Components()) // of calls of a transaction
			for n := range 2 * number {
				key := fmt.Sprintf("key-%d", n)
				fail := n/2 + 1
				quantity := int64(1)
				if n%3 == 2 {
					quantity = 2 * seed().Stock
				}
				w.made = 0
				w.fail = fail
				w.after = n%2 == 0
				order, err := w.place(key, quantity)
				if decided := fail > len(Components()); (err == nil) != decided {
					t.Errorf("call %d of order %d is lost: %v, error %v", fail, n, order, err)
				}
				w.restart(t)
				order, err = w.place(key, quantity) // the customer tries again
				testset.Must(t, err)
				want := shop.StateConfirmed
				if quantity > 1 {
					want = shop.StateRejected
				}
				if order.GetState() != string(want) {
					t.Errorf("order %d is %s, want %s", n, order.GetState(), want)
				}
				if want == shop.StateConfirmed {
					w.cancelLosing(t, order.GetOrderId(), fail, n%2 == 0)
				}
			}
			if verdict, problems := w.judge(t); verdict != "valid" {
				t.Errorf("%s: %q", verdict, problems)
			}
		})
	}
}

// cancelLosing cancels an order while a call is lost.
func (w *world) cancelLosing(t *testing.T, id string, fail int, after bool) {
	t.Helper()
	w.made = 0
	w.fail = fail
	w.after = after
	cancelled, err := w.coordinator.Cancel(t.Context(), id)
	w.history.Add(audit.OperationCancel, nil, cancelled, err)
	if decided := fail > len(Components()); (err == nil) != decided {
		t.Errorf("call %d of a cancellation is lost: %v, error %v", fail, cancelled, err)
	}
	w.restart(t)
	cancelled, err = w.coordinator.Cancel(t.Context(), id)
	w.history.Add(audit.OperationCancel, nil, cancelled, err)
	if err != nil || cancelled.GetState() != string(shop.StateCancelled) {
		t.Errorf("cancelled again: %v, error %v", cancelled, err)
	}
}
