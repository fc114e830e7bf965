package assembly_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
)

// testPrice: orders have the new price as soon as the orders' unit knows it, and older
// orders keep theirs.
func testPrice(t *testing.T, c *client) {
	const customer, product = 190, 190
	put := func(product int64, body string) reply {
		t.Helper()
		return c.do(t, http.MethodPut, fmt.Sprintf("/products/%d/price", product),
			http.Header{"Content-Type": {"application/json"}}, body)
	}
	before := c.order(t, c.key(), customer, line{product, 1})
	wanted := c.price(t, product) + 11
	body := fmt.Sprintf(`{"priceCents":%d}`, wanted)
	for range 2 { // the second time changes nothing
		got := put(product, body)
		var price api.Price
		got.into(t, &price)
		if want := (api.Price{ProductID: product, PriceCents: wanted, Version: 2}); got.status != http.StatusOK ||
			price != want {
			t.Fatalf("PUT of a price = %d %+v, want %+v", got.status, price, want)
		}
	}
	eventually(t, "price of the product", func() (string, bool) { // a cache or a copy may lag behind
		got := c.price(t, product)
		return fmt.Sprint(got), got == wanted
	})
	eventually(t, "price of an order", func() (string, bool) {
		order := c.order(t, c.key(), customer, line{product, 1})
		return fmt.Sprintf("%+v", order), order.State == shop.StateConfirmed && order.TotalCents == wanted
	})
	if now := c.final(t, before.OrderID, shop.State.Final); now.TotalCents != before.TotalCents {
		t.Errorf("an order of %d cents costs %d after its product has another price", before.TotalCents,
			now.TotalCents)
	}
	expectProblem(t, put(missing, body), http.StatusNotFound, shop.UnknownProduct)
	for _, wrong := range []string{`{}`, `{"priceCents":0}`, `{"priceCents":100000001}`} {
		expectProblem(t, put(product, wrong), http.StatusBadRequest, rpc.InvalidArgument)
	}
}
