package assembly_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
)

// atOnce is the number of concurrent clients.
const atOnce = 100

// together calls work concurrently for each number below n. work must not end the test: that is for the
// test's own goroutine.
func together(n int, work func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			work(i)
		})
	}
	close(begin)
	all.Wait()
}

// placeAll posts orders at once and follows them to their ends.
func placeAll(t *testing.T, c *client, bodies []string, keys []string) []api.Order {
	t.Helper()
	replies := make([]reply, len(bodies))
	together(len(bodies), func(i int) {
		var err error
		if replies[i], err = c.place(keys[i], bodies[i]); err != nil {
			t.Error(err)
		}
	})
	orders := make([]api.Order, len(bodies))
	for i, got := range replies {
		if got.status < 200 || got.status > 202 {
			t.Fatalf("order %d = %d %s", i, got.status, got.body)
		}
		got.into(t, &orders[i])
		orders[i] = c.final(t, orders[i].OrderID, func(s shop.State) bool { return s.Final() })
	}
	return orders
}

// count counts orders by state.
func count(orders []api.Order) map[shop.State]int64 {
	states := map[shop.State]int64{}
	for _, order := range orders {
		states[order.State]++
	}
	return states
}

func testSameKeyAtOnce(t *testing.T, c *client) {
	const product, customer = 107, 14
	bodies := make([]string, 20)
	keys := make([]string, 20)
	key := c.key()
	for i := range bodies {
		bodies[i] = orderBody(customer, line{product, 1})
		keys[i] = key
	}
	for _, order := range placeAll(t, c, bodies, keys) {
		if order.State != shop.StateConfirmed {
			t.Errorf("order = %+v", order)
		}
	}
	if orders := allOrders(t, c, customer, 100); len(orders) != 1 {
		t.Errorf("one key made %d orders", len(orders))
	}
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock - 1, Sold: 1})
}

// testScarceStock places twice as many orders as there is stock for: all of the stock is sold, and no more.
func testScarceStock(t *testing.T, c *client) {
	const first = 20 // the first of the customers
	bodies := make([]string, atOnce)
	keys := make([]string, atOnce)
	for i := range bodies {
		// Two lines in either order: a shop that locks the rows in the order of the lines would deadlock.
		lines := []line{{scarceProduct, 1}, {scarceProduct - 1, 1}}
		if i%2 == 1 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		bodies[i] = orderBody(int64(first+i), lines...)
		keys[i] = c.key()
	}
	orders := placeAll(t, c, bodies, keys)
	states := count(orders)
	if states[shop.StateConfirmed] != suiteSeed().Stock ||
		states[shop.StateRejected] != atOnce-suiteSeed().Stock {
		t.Errorf("%d in stock, states = %v", suiteSeed().Stock, states)
	}
	for _, order := range orders {
		if order.State == shop.StateRejected && order.Rejection.Type != api.TypeOf(shop.OutOfStock) {
			t.Errorf("rejected for %+v", order.Rejection)
		}
	}
	for _, product := range []int64{scarceProduct, scarceProduct - 1} {
		expectStock(t, c, api.Stock{ProductID: product, Sold: suiteSeed().Stock})
	}
}

// testOneAccount has one customer place orders at once that cost more than the balance.
func testOneAccount(t *testing.T, c *client) {
	const customer, quantity = 121, 20
	var bodies, keys []string
	cheapest := int64(1) << 62
	for product := int64(110); product < 170; product++ {
		bodies = append(bodies, orderBody(customer, line{product, quantity}))
		keys = append(keys, c.key())
		cheapest = min(cheapest, quantity*c.price(t, product))
	}
	orders := placeAll(t, c, bodies, keys)
	spent := int64(0)
	for _, order := range orders {
		if order.State == shop.StateConfirmed {
			spent += order.TotalCents
		} else if order.Rejection == nil || order.Rejection.Type != api.TypeOf(shop.Declined) {
			t.Errorf("order = %+v", order)
		}
	}
	account := c.account(t, customer)
	if account.BalanceCents != suiteSeed().Balance-spent {
		t.Errorf("account %+v, spent %d of %d", account, spent, suiteSeed().Balance)
	}
	if states := count(orders); states[shop.StateConfirmed] == 0 || states[shop.StateRejected] == 0 {
		t.Errorf("states = %v: the orders did not reach the limit of the balance (cheapest %d)", states, cheapest)
	}
}

func testCancelAtOnce(t *testing.T, c *client) {
	const product, customer = 171, 122
	order := c.order(t, c.key(), customer, line{product, 5})
	together(20, func(int) {
		got, err := c.send(http.MethodPost, "/orders/"+order.OrderID+"/cancel", nil, "")
		if err != nil || got.status != http.StatusOK && got.status != http.StatusAccepted {
			t.Errorf("cancel = %d %s, %v", got.status, got.body, err)
		}
	})
	c.final(t, order.OrderID, func(s shop.State) bool { return s == shop.StateCancelled })
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock})
	eventually(t, "refund, once", func() (string, bool) {
		account := c.account(t, customer)
		return fmt.Sprintf("%+v", account), account.BalanceCents == suiteSeed().Balance
	})
}
