package batching

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// seed: ten products of which there are 30 each, one customer who can pay 100 times.
func seed() shop.Seed {
	return shop.Seed{Customers: 1, Products: 10, Stock: 30, Balance: 1000, Random: 1}
}

func open(t *testing.T, config database.Config) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	if err := errors.Join(schema.Migrate(t.Context(), db, shop.Components()...),
		schema.Load(t.Context(), db, seed(), shop.Components()...)); err != nil {
		t.Fatal(err)
	}
	return db
}

// atOnce calls n times at the same time and counts the answers by their kind.
func atOnce(n int, call func(i int) error) map[rpc.Kind]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	kinds := map[rpc.Kind]int{}
	for i := range n {
		all.Go(func() {
			var kind rpc.Kind
			if problem := shop.ProblemOf(call(i)); problem != nil {
				kind = problem.Kind
			}
			mu.Lock()
			defer mu.Unlock()
			kinds[kind]++
		})
	}
	all.Wait()
	return kinds
}

func ids(n int) []string {
	made := make([]string, n)
	for i := range made {
		made[i] = uuid.Must(uuid.NewV7()).String()
	}
	return made
}

func sum(t *testing.T, db *database.DB, query string) (n int64) {
	t.Helper()
	if _, err := db.One(t.Context(), []any{&n}, query); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStepsComeOut: what comes together ends as it would alone, with its own answer,
// also where some are refused, come twice, or come too late.
func TestStepsComeOut(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db := open(t, fresh(t))
		ctx := t.Context()
		// Two of each, as in two processes: they batch apart from each other.
		stocks := []shop.Inventory{NewInventory(db, inventory.New(db)), NewInventory(db, inventory.New(db))}
		accounts := []shop.Payments{NewPayments(db, payments.New(db)), NewPayments(db, payments.New(db))}
		parcels := NewShipping(db, shipping.New(db))
		orders := ids(200)
		reserve := func(i int) error {
			_, err := stocks[i/100].Reserve(ctx, &shoppb.ReserveRequest{OrderId: orders[i%150],
				Lines: []*shoppb.Line{{ProductId: 1 + int64(i%10), Quantity: 2}}})
			return err
		}
		// 150 orders, 50 of them twice; there is enough for all.
		if got := atOnce(200, reserve); got[""] != 200 {
			t.Errorf("reservations: %v", got)
		}
		if got := atOnce(50, func(i int) error { // of which there is none left
			_, err := stocks[i/100].Reserve(ctx, &shoppb.ReserveRequest{OrderId: orders[150+i],
				Lines: []*shoppb.Line{{ProductId: 1 + int64(i%10), Quantity: 2}}})
			return err
		}); got[shop.OutOfStock] != 50 {
			t.Errorf("reservations of nothing: %v", got)
		}
		if got := atOnce(170, func(i int) error { // 20 were never reserved
			_, err := stocks[i%2].Commit(ctx, &shoppb.StepRequest{OrderId: orders[i]})
			return err
		}); got[""] != 150 || got[shop.Conflict] != 20 {
			t.Errorf("commits: %v", got)
		}
		if got := atOnce(120, func(i int) error {
			_, err := accounts[i%2].Charge(ctx, &shoppb.ChargeRequest{OrderId: orders[i], CustomerId: 1,
				AmountCents: 10})
			return err
		}); got[""] != 100 || got[shop.Declined] != 20 {
			t.Errorf("charges: %v", got)
		}
		if got := atOnce(100, func(i int) error {
			shipment, err := parcels.Ship(ctx, &shoppb.ShipRequest{OrderId: orders[i/2], Recipient: "R",
				Address: orders[i/2]})
			if err == nil && shipment.GetAddress() != orders[i/2] {
				err = fmt.Errorf("another's shipment: %v", shipment)
			}
			return err
		}); got[""] != 100 {
			t.Errorf("shipments: %v", got)
		}
		for query, want := range map[string]int64{
			"SELECT SUM(sold) FROM stock": 300, "SELECT SUM(on_hand + reserved) FROM stock": 0,
			"SELECT COUNT(*) FROM reservations WHERE state = 'committed'": 150,
			"SELECT COUNT(*) FROM payments WHERE state = 'captured'":      100,
			"SELECT SUM(balance_cents) FROM accounts":                     0, "SELECT COUNT(*) FROM shipments": 50,
		} {
			if got := sum(t, db, query); got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
	})
}

// crowd has calls wait for each other: the first are under way until the rest have
// come.
type crowd struct {
	batcher  *Batcher[int]
	arrived  chan struct{}
	release  chan struct{}
	mu       sync.Mutex
	together []int
	alone    []int
}

func newCrowd(t *testing.T, all func(group []int) ([]steps.Outcome, error)) *crowd {
	c := &crowd{arrived: make(chan struct{}), release: make(chan struct{})}
	db := databasetest.Open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/db"})
	c.batcher = New(db, func(_ context.Context, group []int) ([]steps.Outcome, error) {
		if group[0] == first {
			c.arrived <- struct{}{}
			<-c.release
			return fine(group)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(group) == 1 {
			c.alone = append(c.alone, group[0])
			return fine(group)
		}
		c.together = append(c.together, group...)
		return all(group)
	})
	return c
}

// first is a call that stays until release.
const first = -1

// fine returns how a group ends of which none is refused.
func fine(group []int) ([]steps.Outcome, error) { return make([]steps.Outcome, len(group)), nil }

// call makes a call.
func (c *crowd) call(ctx context.Context, n int) error {
	_, err := c.batcher.Do(ctx, n)
	return err
}

func (c *crowd) waiting() int {
	c.batcher.mu.Lock()
	defer c.batcher.mu.Unlock()
	return len(c.batcher.waiting)
}

// occupy has as many calls under way as there may be, until release.
func (c *crowd) occupy(t *testing.T) *sync.WaitGroup {
	var firsts sync.WaitGroup
	for range underWay {
		firsts.Go(func() { _ = c.call(t.Context(), first) })
		<-c.arrived
	}
	return &firsts
}

// awaitCalls waits until so many calls wait.
func awaitCalls(t *testing.T, waiting func() int, calls int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); waiting() < calls; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d of %d calls wait after a minute", waiting(), calls)
		}
	}
}

// play has calls come while others are under way, and returns their errors.
func (c *crowd) play(t *testing.T, calls int) []error {
	t.Helper()
	all := c.occupy(t)
	errs := make([]error, calls)
	for n := range calls {
		all.Go(func() { errs[n] = c.call(t.Context(), n) })
	}
	awaitCalls(t, c.waiting, calls)
	close(c.release)
	all.Wait()
	return errs
}

func TestWhoWaitsGoesTogether(t *testing.T) {
	c := newCrowd(t, fine)
	if err := errors.Join(c.play(t, 5)...); err != nil || len(c.together) != 5 || len(c.alone) != 0 {
		t.Errorf("together %v, alone %v, error %v", c.together, c.alone, err)
	}
	if err := c.call(t.Context(), 9); err != nil || len(c.alone) != 1 {
		t.Errorf("a call without company: alone %v, error %v", c.alone, err)
	}
}

// TestWhoIsRefusedIsToldSo: the others of the batch do not notice.
func TestWhoIsRefusedIsToldSo(t *testing.T) {
	refused := errors.New("refused")
	c := newCrowd(t, func(group []int) ([]steps.Outcome, error) {
		outcomes, err := fine(group)
		outcomes[slices.Index(group, 3)].Err = refused
		return outcomes, err
	})
	for n, err := range c.play(t, 5) {
		if (n == 3) != errors.Is(err, refused) || n != 3 && err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if len(c.together) != 5 || len(c.alone) != 0 {
		t.Errorf("together %v, alone %v", c.together, c.alone)
	}
}

// TestABatchThatFailsGoesOneByOne: what is wrong with one call is not the others' fault.
func TestABatchThatFailsGoesOneByOne(t *testing.T) {
	c := newCrowd(t, func([]int) ([]steps.Outcome, error) { return nil, errors.New("planted") })
	if err := errors.Join(c.play(t, 5)...); err != nil || len(c.together) != 5 || len(c.alone) != 5 {
		t.Errorf("together %v, alone %v, error %v", c.together, c.alone, err)
	}
}

// TestATransactionOfTheCallerIsJoined: who has one does not wait for others, whose
// transaction is another.
func TestATransactionOfTheCallerIsJoined(t *testing.T) {
	c := newCrowd(t, fine)
	firsts := c.occupy(t)
	err := c.batcher.db.Do(t.Context(), func(ctx context.Context) error { return c.call(ctx, 1) })
	if err != nil || len(c.alone) != 1 {
		t.Errorf("alone %v, error %v", c.alone, err)
	}
	close(c.release)
	firsts.Wait()
}

func TestWhoGivesUpWaitsNoMore(t *testing.T) {
	c := newCrowd(t, fine)
	firsts := c.occupy(t)
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := c.call(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(c.release)
	firsts.Wait()
}

// TestACallWithLittleTimeLeavesTheOthersTheirs: the batch goes on when the deadline of its first call passes.
func TestACallWithLittleTimeLeavesTheOthersTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		batcher := New(nil, func(ctx context.Context, group []int) ([]steps.Outcome, error) {
			if group[0] == first {
				<-busy
				return fine(group)
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return fine(group)
			}
		})
		var all sync.WaitGroup
		call := func(n int, limit time.Duration, want error) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if _, err := batcher.Do(ctx, n); !errors.Is(err, want) {
					t.Errorf("call %d: error %v, want %v", n, err, want)
				}
			})
			synctest.Wait()
		}
		call(first, time.Minute, nil)
		call(1, 500*time.Millisecond, context.DeadlineExceeded)
		call(2, time.Minute, nil)
		call(3, time.Minute, nil)
		close(busy)
		all.Wait()
	})
}
