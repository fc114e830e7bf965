package assembly_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
)

// allOrders reads all pages of a customer's orders.
func allOrders(t *testing.T, c *client, customer int64, size int) []api.Order {
	t.Helper()
	return allPages(t, size, func(cursor string) ([]api.Order, string) {
		var page api.Orders
		c.get(t, fmt.Sprintf("/orders?customerId=%d&pageSize=%d&cursor=%s", customer, size, cursor), &page)
		return page.Orders, page.NextCursor
	})
}

// allPages returns the entries of all pages. Each page may have size entries at most.
func allPages[E any](t *testing.T, size int, get func(cursor string) (page []E, next string)) (all []E) {
	t.Helper()
	for cursor := ""; ; cursor = url.QueryEscape(cursor) {
		var page []E
		if page, cursor = get(cursor); len(page) > size {
			t.Fatalf("a page of %d has %d entries", size, len(page))
		}
		if all = append(all, page...); cursor == "" {
			return all
		}
	}
}

func testOrderPages(t *testing.T, c *client) {
	const customer = 12
	var placed []string
	for range 7 {
		placed = append(placed, c.order(t, c.key(), customer, line{104, 1}, line{105, 1}).OrderID)
	}
	slices.Reverse(placed) // the newest first
	for _, size := range []int{1, 2, 3, 7, 100} {
		eventually(t, fmt.Sprintf("orders in pages of %d", size), func() (string, bool) {
			var listed []string
			for _, order := range allOrders(t, c, customer, size) {
				listed = append(listed, order.OrderID)
				if len(order.Lines) != 2 {
					t.Errorf("order %s is listed with %d lines", order.OrderID, len(order.Lines))
				}
			}
			return fmt.Sprint(listed), slices.Equal(listed, placed)
		})
	}
	if orders := allOrders(t, c, missing-1, 10); len(orders) != 0 {
		t.Errorf("a customer who is not there has %d orders", len(orders))
	}
}

// testOrderPage: a page has the order, its shipment, and the present price and stock of its products. Missing
// parts are left out.
func testOrderPage(t *testing.T, c *client) {
	const customer, product = 191, 191
	page := func(order string, holds func(api.OrderPage) bool) {
		t.Helper()
		eventually(t, "page of an order", func() (string, bool) {
			got := c.do(t, http.MethodGet, "/orders/"+order+"/page", nil, "")
			if got.status == http.StatusNotFound { // a read model may not know it yet
				return string(got.body), false
			}
			var page api.OrderPage
			got.into(t, &page)
			return string(got.body), page.Order.OrderID == order && holds(page)
		})
	}
	placed := c.order(t, c.key(), customer, line{product, 2}, line{product + 1, 1})
	wanted := c.price(t, product) + 7
	got := c.do(t, http.MethodPut, fmt.Sprintf("/products/%d/price", product),
		http.Header{"Content-Type": {"application/json"}}, fmt.Sprintf(`{"priceCents":%d}`, wanted))
	if got.status != http.StatusOK {
		t.Fatalf("PUT of a price = %d %s", got.status, got.body)
	}
	want := []api.OrderPageLine{
		{Product: api.Product{ProductID: product, Name: suiteSeed().Product(product).Name, PriceCents: wanted},
			OnHand: suiteSeed().Stock - 2},
		{Product: api.Product{ProductID: product + 1, Name: suiteSeed().Product(product + 1).Name,
			PriceCents: suiteSeed().Product(product + 1).PriceCents}, OnHand: suiteSeed().Stock - 1}}
	page(placed.OrderID, func(p api.OrderPage) bool {
		return p.Order.State == shop.StateConfirmed && slices.Equal(p.Products, want) && p.Shipment != nil &&
			p.Shipment.OrderID == placed.OrderID
	})
	unknown := c.order(t, c.key(), customer, line{product, 1}, line{missing, 1})
	page(unknown.OrderID, func(p api.OrderPage) bool {
		return p.Order.State == shop.StateRejected && slices.Equal(p.Products, want[:1]) && p.Shipment == nil
	})
}

// allProducts reads all pages of a search.
func allProducts(t *testing.T, c *client, prefix string, size int) []api.Product {
	t.Helper()
	return allPages(t, size, func(cursor string) ([]api.Product, string) {
		var page api.Products
		c.get(t, fmt.Sprintf("/products?namePrefix=%s&pageSize=%d&cursor=%s", url.QueryEscape(prefix), size,
			cursor), &page)
		return page.Products, page.NextCursor
	})
}

func testProductPages(t *testing.T, c *client) {
	whole := allProducts(t, c, "", 100)
	if int64(len(whole)) != suiteSeed().Products {
		t.Fatalf("%d products, want %d", len(whole), suiteSeed().Products)
	}
	sorted := slices.IsSortedFunc(whole, func(a, b api.Product) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	if !sorted {
		t.Error("the products are not in the order of their names")
	}
	for _, size := range []int{7, 99} {
		if paged := allProducts(t, c, "", size); !slices.Equal(paged, whole) {
			t.Errorf("in pages of %d the products are others: %d of %d", size, len(paged), len(whole))
		}
	}
}

func testSearch(t *testing.T, c *client) {
	want := map[int64]bool{}
	for id := int64(1); id <= suiteSeed().Products; id++ {
		if strings.HasPrefix(suiteSeed().Product(id).Name, "Amber") {
			want[id] = true
		}
	}
	for _, prefix := range []string{"Amber", "amber", "AMBER "} {
		found := allProducts(t, c, prefix, 3)
		for _, p := range found {
			if !want[p.ProductID] {
				t.Errorf("%q finds %+v", prefix, p)
			}
		}
		if len(found) != len(want) {
			t.Errorf("%q finds %d products, want %d", prefix, len(found), len(want))
		}
	}
	for _, prefix := range []string{"nothing begins so", "%", "_", "é'\"", "Amber Z"} {
		if found := allProducts(t, c, prefix, 10); len(found) != 0 {
			t.Errorf("%q finds %+v", prefix, found)
		}
	}
}

func testMissing(t *testing.T, c *client) {
	for _, m := range []struct {
		method, path string
		status       int
		kind         rpc.Kind
	}{
		{"GET", "/orders/no-such-order", 404, shop.NotFound},
		{"GET", "/orders/no-such-order/shipment", 404, shop.NotFound},
		{"GET", "/orders/no-such-order/page", 404, shop.NotFound},
		{"GET", fmt.Sprintf("/products/%d", missing), 404, shop.UnknownProduct},
		{"GET", fmt.Sprintf("/products/%d/stock", missing), 404, shop.UnknownProduct},
		{"GET", fmt.Sprintf("/customers/%d", missing), 404, shop.UnknownCustomer},
		{"GET", fmt.Sprintf("/customers/%d/account", missing), 404, shop.UnknownCustomer},
		{"GET", "/nowhere", 404, "no-such-resource"},
		{"GET", "/", 404, "no-such-resource"},
		{"DELETE", "/orders", 405, "method-not-allowed"},
		{"PUT", "/products/1", 405, "method-not-allowed"},
	} {
		expectProblem(t, c.do(t, m.method, m.path, nil, ""), m.status, m.kind)
	}
	if got := c.do(t, http.MethodDelete, "/orders", nil, ""); !strings.Contains(got.header.Get("Allow"),
		"POST") {
		t.Errorf("Allow = %q", got.header.Get("Allow"))
	}
}
