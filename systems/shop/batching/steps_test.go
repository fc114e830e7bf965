package batching_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// seed returns a shop of ten products, 30 of each, and one customer who can pay 100 times.
func seed() shop.Seed {
	return shop.Seed{Customers: 1, Products: 10, Stock: 30, Balance: 1000, Random: 1}
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

// TestConcurrentStepsHaveTheirOwnOutcomes: the same ones as steps one by one, also if some are refused, come
// twice, or come too late.
func TestConcurrentStepsHaveTheirOwnOutcomes(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db := shoptest.Open(t, fresh(t), seed(), shop.Components()...)
		ctx := t.Context()
		// Two of each, as in two processes: they batch apart from each other.
		units := make([]shoptest.Components, 2)
		for i := range units {
			units[i] = shoptest.Components{Inventory: inventory.New(db, inventory.BySQL(db), true),
				Payments: payments.New(db, payments.BySQL(db), true),
				Shipping: shipping.New(db, shipping.BySQL(db), true)}
		}
		orders := ids(200)
		reserve := func(i int, order string) error {
			_, err := units[i/100].Inventory.Reserve(ctx, &shoppb.ReserveRequest{OrderId: order,
				Lines: []*shoppb.Line{{ProductId: 1 + int64(i%10), Quantity: 2}}})
			return err
		}
		// 150 orders, 50 of them twice; there is enough for all.
		if got := atOnce(200, func(i int) error { return reserve(i, orders[i%150]) }); got[""] != 200 {
			t.Errorf("reservations: %v", got)
		}
		// Now there is none left.
		none := atOnce(50, func(i int) error { return reserve(i, orders[150+i]) })
		if none[shop.OutOfStock] != 50 {
			t.Errorf("reservations of nothing: %v", none)
		}
		if got := atOnce(170, func(i int) error { // 20 were never reserved
			_, err := units[i%2].Inventory.Commit(ctx, &shoppb.StepRequest{OrderId: orders[i]})
			return err
		}); got[""] != 150 || got[shop.Conflict] != 20 {
			t.Errorf("commits: %v", got)
		}
		if got := atOnce(120, func(i int) error {
			_, err := units[i%2].Payments.Charge(ctx, &shoppb.ChargeRequest{OrderId: orders[i], CustomerId: 1,
				AmountCents: 10})
			return err
		}); got[""] != 100 || got[shop.Declined] != 20 {
			t.Errorf("charges: %v", got)
		}
		if got := atOnce(100, func(i int) error {
			shipment, err := units[0].Shipping.Ship(ctx, &shoppb.ShipRequest{OrderId: orders[i/2], Recipient: "R",
				Address: orders[i/2]})
			if err == nil && shipment.GetAddress() != orders[i/2] {
				err = fmt.Errorf("another's shipment: %v", shipment)
			}
			return err
		}); got[""] != 100 {
			t.Errorf("shipments: %v", got)
		}
		shoptest.Expect(t, db, map[string]int64{
			"SELECT SUM(sold) FROM stock": 300, "SELECT SUM(on_hand + reserved) FROM stock": 0,
			"SELECT COUNT(*) FROM reservations WHERE state = 'committed'": 150,
			"SELECT COUNT(*) FROM payments WHERE state = 'captured'":      100,
			"SELECT SUM(balance_cents) FROM accounts":                     0, "SELECT COUNT(*) FROM shipments": 50,
		})
	})
}
