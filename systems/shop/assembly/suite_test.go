package assembly_test

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/systems/shop"
)

// suiteSeed returns the shop that the suite needs. Each test has products and customers of
// its own, so that their order does not matter.
func suiteSeed() shop.Seed {
	return shop.Seed{Customers: 200, Products: 200, Stock: 50, Balance: 1_000_000, Random: 7}
}

// Ids of tests.
const (
	scarceProduct = 100       // with the one before it, for concurrent orders only
	missing       = 9_999_999 // of no product and no customer
)

// playSuite checks that the shop at an address, fresh and filled by suiteSeed, behaves as it must in every
// architecture. It waits for orders to become final and for views to catch up, so it also fits architectures
// that answer before an order is done.
func playSuite(t *testing.T, baseURL string) {
	c := newClient(baseURL)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *client)
	}{
		{"health and document", testHealth},
		{"an order is confirmed", testConfirmed},
		{"an order of many lines", testManyLines},
		{"a key repeats its order", testReplay},
		{"a key with other content", testKeyReused},
		{"no stock", testNoStock},
		{"no stock for one of two lines", testNoStockForOne},
		{"declined", testDeclined},
		{"unknown product", testUnknownProduct},
		{"unknown customer", testUnknownCustomer},
		{"cancel", testCancel},
		{"cancel what cannot be cancelled", testCancelRefused},
		{"orders by page", testOrderPages},
		{"products by page", testProductPages},
		{"search", testSearch},
		{"bad requests", testBadRequests},
		{"missing things", testMissing},
		{"limits", testLimits},
		{"one key, many at once", testSameKeyAtOnce},
		{"scarce stock, many at once", testScarceStock},
		{"one account, many at once", testOneAccount},
		{"cancelled by many at once", testCancelAtOnce},
		{"another price", testPrice},
		{"the page of an order", testOrderPage},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
	t.Run("stock and money add up", func(t *testing.T) { conserved(t, c) })
}

// conserved checks, after all other tests, that all stock and money are still there.
func conserved(t *testing.T, c *client) {
	seed := suiteSeed()
	for product := int64(1); product <= seed.Products; product++ {
		eventually(t, fmt.Sprintf("stock of product %d", product), func() (string, bool) {
			s := c.stock(t, product)
			return fmt.Sprintf("%+v", s), s.OnHand+s.Reserved+s.Sold == seed.Stock && s.Reserved == 0
		})
	}
	for customer := int64(1); customer <= seed.Customers; customer++ {
		account := c.account(t, customer)
		spent := spentBy(t, c, customer)
		if account.BalanceCents+spent != seed.Balance {
			t.Errorf("customer %d has %+v and spent %d of %d", customer, account, spent, seed.Balance)
		}
	}
}

// spentBy adds up the confirmed orders of a customer, page by page.
func spentBy(t *testing.T, c *client, customer int64) int64 {
	spent := int64(0)
	for _, order := range allOrders(t, c, customer, 100) {
		if order.State == shop.StateConfirmed {
			spent += order.TotalCents
		}
	}
	return spent
}
