package assembly_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
)

func testHealth(t *testing.T, c *client) {
	if got := c.do(t, http.MethodGet, "/health", nil, ""); got.status != http.StatusOK ||
		string(got.body) != `{"status":"up"}` {
		t.Errorf("health = %d %s", got.status, got.body)
	}
	if got := c.do(t, http.MethodGet, "/openapi.yaml", nil, ""); got.status != http.StatusOK ||
		string(got.body) != string(openAPI(t)) {
		t.Errorf("document = %d, %d bytes", got.status, len(got.body))
	}
}

func testConfirmed(t *testing.T, c *client) {
	const product, customer = 1, 1
	stock := c.stock(t, product)
	account := c.account(t, customer)
	price := c.price(t, product)
	order := c.order(t, c.key(), customer, line{product, 3})
	if order.State != shop.StateConfirmed || order.TotalCents != 3*price || order.CustomerID != customer ||
		order.Rejection != nil {
		t.Errorf("order = %+v, want confirmed for %d", order, 3*price)
	}
	if l := order.Lines; len(l) != 1 || l[0].ProductID != product || l[0].Quantity != 3 ||
		l[0].UnitPriceCents != price || l[0].Name == "" {
		t.Errorf("lines = %+v", l)
	}
	if got := c.account(t, customer); got.BalanceCents != account.BalanceCents-3*price {
		t.Errorf("account %+v became %+v, price %d", account, got, price)
	}
	expectStock(t, c, api.Stock{ProductID: product, OnHand: stock.OnHand - 3, Reserved: 0, Sold: stock.Sold + 3})
	var customerIs api.Customer
	c.get(t, fmt.Sprintf("/customers/%d", customer), &customerIs)
	var shipment api.Shipment
	c.get(t, "/orders/"+order.OrderID+"/shipment", &shipment)
	if want := (api.Shipment{OrderID: order.OrderID, State: "shipped", Recipient: customerIs.Name,
		Address: customerIs.Address}); shipment != want {
		t.Errorf("shipment = %+v, want %+v", shipment, want)
	}
}

// expectStock waits until the stock is as wanted.
func expectStock(t *testing.T, c *client, want api.Stock) {
	t.Helper()
	eventually(t, fmt.Sprintf("stock of product %d, want %+v", want.ProductID, want), func() (string, bool) {
		got := c.stock(t, want.ProductID)
		return fmt.Sprintf("%+v", got), got == want
	})
}

func testManyLines(t *testing.T, c *client) {
	lines := make([]line, shop.MaxLines)
	total := int64(0)
	for i := range lines {
		// Not in the order of their ids: the answer keeps the order asked for.
		lines[i] = line{int64(60 - i), int64(1 + i%2)}
		total += lines[i].quantity * c.price(t, lines[i].product)
	}
	order := c.order(t, c.key(), 2, lines...)
	if order.State != shop.StateConfirmed || order.TotalCents != total || len(order.Lines) != len(lines) {
		t.Fatalf("order is %s for %d with %d lines, want confirmed for %d with %d: %+v",
			order.State, order.TotalCents, len(order.Lines), total, len(lines), order.Rejection)
	}
	for i, got := range order.Lines {
		if got.ProductID != lines[i].product || got.Quantity != lines[i].quantity {
			t.Errorf("line %d = %+v, want %+v", i, got, lines[i])
		}
	}
}

func testReplay(t *testing.T, c *client) {
	const product, customer = 61, 3
	key := c.key()
	first := c.order(t, key, customer, line{product, 2})
	again := c.post(t, key, orderBody(customer, line{product, 2}))
	if again.status != http.StatusOK {
		t.Fatalf("the second time = %d %s", again.status, again.body)
	}
	var second api.Order
	again.into(t, &second)
	if second.OrderID != first.OrderID || second.State != first.State ||
		again.header.Get("Location") != "/orders/"+first.OrderID {
		t.Errorf("the second time %+v, the first %+v", second, first)
	}
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock - 2, Sold: 2})
}

func testKeyReused(t *testing.T, c *client) {
	const product, customer = 62, 4
	key := c.key()
	c.order(t, key, customer, line{product, 2})
	for _, other := range []string{
		orderBody(customer, line{product, 3}), orderBody(customer+1, line{product, 2}),
		orderBody(customer, line{product + 1, 2}), orderBody(customer, line{product, 2}, line{product + 1, 1}),
	} {
		expectProblem(t, c.post(t, key, other), http.StatusUnprocessableEntity, shop.KeyReused)
	}
	if orders := allOrders(t, c, customer, 100); len(orders) != 1 {
		t.Errorf("customer %d has %d orders, want 1", customer, len(orders))
	}
}

// expectRejected places an order that the shop refuses: on record with the reason, with its prices if it came
// to stock and account, and nothing was taken. A repeated key returns the same.
func expectRejected(t *testing.T, c *client, kind rpc.Kind, customer int64, lines ...line) {
	t.Helper()
	key := c.key()
	order := c.order(t, key, customer, lines...)
	if order.State != shop.StateRejected || order.Rejection == nil || order.Rejection.Type != api.TypeOf(kind) ||
		order.Rejection.Detail == "" {
		t.Fatalf("order = %+v (%+v), want rejected for %s", order, order.Rejection, kind)
	}
	if priced := kind == shop.OutOfStock || kind == shop.Declined; priced != (order.TotalCents > 0) {
		t.Errorf("an order that was rejected for %s has a total of %d cents", kind, order.TotalCents)
	}
	if again := c.order(t, key, customer, lines...); again.OrderID != order.OrderID ||
		again.State != order.State {
		t.Errorf("the second time %+v, the first %+v", again, order)
	}
	got := c.do(t, http.MethodGet, "/orders/"+order.OrderID+"/shipment", nil, "")
	if got.status != http.StatusNotFound {
		var shipment api.Shipment
		got.into(t, &shipment)
		if shipment.State != "recalled" {
			t.Errorf("a rejected order has the shipment %+v", shipment)
		}
	}
}

func testNoStock(t *testing.T, c *client) {
	const product, customer = 64, 6
	expectRejected(t, c, shop.OutOfStock, customer, line{product, suiteSeed().Stock + 1})
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock})
	if account := c.account(t, customer); account.BalanceCents != suiteSeed().Balance {
		t.Errorf("account = %+v", account)
	}
}

func testNoStockForOne(t *testing.T, c *client) {
	const product, customer = 65, 7
	expectRejected(t, c, shop.OutOfStock, customer, line{product, 1}, line{product + 1, suiteSeed().Stock + 1})
	for p := int64(product); p <= product+1; p++ {
		expectStock(t, c, api.Stock{ProductID: p, OnHand: suiteSeed().Stock})
	}
}

func testDeclined(t *testing.T, c *client) {
	// All of several products: more than the balance, whatever their prices.
	const customer = 8
	var lines []line
	for product, total := int64(70), int64(0); total <= suiteSeed().Balance; product++ {
		lines = append(lines, line{product, suiteSeed().Stock})
		total += suiteSeed().Stock * c.price(t, product)
	}
	expectRejected(t, c, shop.Declined, customer, lines...)
	for _, l := range lines {
		expectStock(t, c, api.Stock{ProductID: l.product, OnHand: suiteSeed().Stock})
	}
	if account := c.account(t, customer); account.BalanceCents != suiteSeed().Balance {
		t.Errorf("account = %+v", account)
	}
}

func testUnknownProduct(t *testing.T, c *client) {
	const product, customer = 68, 9
	expectRejected(t, c, shop.UnknownProduct, customer, line{product, 1}, line{missing, 1})
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock})
}

func testUnknownCustomer(t *testing.T, c *client) {
	const product = 69
	expectRejected(t, c, shop.UnknownCustomer, missing, line{product, 1})
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock})
}

func testCancel(t *testing.T, c *client) {
	const product, customer = 101, 10
	order := c.order(t, c.key(), customer, line{product, 4}, line{product + 1, 1})
	for range 2 { // the second time changes nothing
		got := c.do(t, http.MethodPost, "/orders/"+order.OrderID+"/cancel", nil, "")
		if got.status != http.StatusOK && got.status != http.StatusAccepted {
			t.Fatalf("cancel = %d %s", got.status, got.body)
		}
		cancelled := c.final(t, order.OrderID, func(s shop.State) bool { return s == shop.StateCancelled })
		if cancelled.Version <= order.Version || cancelled.TotalCents != order.TotalCents {
			t.Errorf("%+v became %+v", order, cancelled)
		}
	}
	expectStock(t, c, api.Stock{ProductID: product, OnHand: suiteSeed().Stock})
	expectStock(t, c, api.Stock{ProductID: product + 1, OnHand: suiteSeed().Stock})
	eventually(t, "refund", func() (string, bool) {
		account := c.account(t, customer)
		return fmt.Sprintf("%+v", account), account.BalanceCents == suiteSeed().Balance
	})
	eventually(t, "recall", func() (string, bool) {
		var shipment api.Shipment
		c.get(t, "/orders/"+order.OrderID+"/shipment", &shipment)
		return fmt.Sprintf("%+v", shipment), shipment.State == "recalled"
	})
}

func testCancelRefused(t *testing.T, c *client) {
	order := c.order(t, c.key(), 11, line{103, suiteSeed().Stock + 1})
	expectProblem(t, c.do(t, http.MethodPost, "/orders/"+order.OrderID+"/cancel", nil, ""), http.StatusConflict,
		shop.Conflict)
	expectProblem(t, c.do(t, http.MethodPost, "/orders/no-such-order/cancel", nil, ""), http.StatusNotFound,
		shop.NotFound)
}
