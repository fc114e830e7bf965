package assembly_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
)

// badOrders are bodies that no shop takes.
func badOrders() map[string]string {
	var tooMany []line
	for i := range int64(shop.MaxLines + 1) {
		tooMany = append(tooMany, line{i + 1, 1})
	}
	return map[string]string{
		"empty":             ``,
		"not JSON":          `{"customerId":1,`,
		"two values":        orderBody(1, line{1, 1}) + `{}`,
		"an array":          `[]`,
		"a number":          `1`,
		"null":              `null`,
		"no customer":       `{"lines":[{"productId":1,"quantity":1}]}`,
		"no lines":          `{"customerId":1}`,
		"lines are null":    `{"customerId":1,"lines":null}`,
		"no line":           `{"customerId":1,"lines":[]}`,
		"no quantity":       `{"customerId":1,"lines":[{"productId":1}]}`,
		"no product":        `{"customerId":1,"lines":[{"quantity":1}]}`,
		"line is null":      `{"customerId":1,"lines":[null]}`,
		"unknown field":     `{"customerId":1,"lines":[{"productId":1,"quantity":1}],"priceCents":1}`,
		"a text as id":      `{"customerId":"1","lines":[{"productId":1,"quantity":1}]}`,
		"half a unit":       `{"customerId":1,"lines":[{"productId":1,"quantity":0.5}]}`,
		"customer 0":        orderBody(0, line{1, 1}),
		"product 0":         orderBody(1, line{0, 1}),
		"quantity 0":        orderBody(1, line{1, 0}),
		"negative quantity": orderBody(1, line{1, -1}),
		"quantity too high": orderBody(1, line{1, shop.MaxQuantity + 1}),
		"more than int64":   `{"customerId":1,"lines":[{"productId":1,"quantity":9223372036854775808}]}`,
		"product twice":     orderBody(1, line{1, 1}, line{1, 2}),
		"too many lines":    orderBody(1, tooMany...),
		"too deep": `{"customerId":1,"lines":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) +
			`}`,
	}
}

func testBadRequests(t *testing.T, c *client) {
	for name, body := range badOrders() {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, c.post(t, c.key(), body), http.StatusBadRequest, rpc.InvalidArgument)
		})
	}
	for _, path := range []string{
		"/orders", "/orders?customerId=0", "/orders?customerId=x", "/orders?customerId=1&pageSize=0",
		"/orders?customerId=1&pageSize=101", "/orders?customerId=1&customerId=2", "/orders?customerId=1&cursor=%00",
		"/products?pageSize=-1", "/products?pageSize=1e1", "/products?cursor=!", "/products?cursor=AAAA",
		"/products?page=2",
		"/products?namePrefix=%01", "/products?namePrefix=%ff",
		"/products?namePrefix=" + strings.Repeat("x", shop.MaxPrefix+1),
		"/products/0", "/products/x", "/products/01", "/products/1?x=1", "/products/99999999999999999999",
		"/customers/-1", "/orders/" + strings.Repeat("x", shop.OrderIDLength+1), "/orders/%20", "/orders/%C3%A9",
		"/orders/%ff", "/orders/%ff/page", "/orders/%ff/shipment",
		"/products?a=%zz",
	} {
		t.Run(path, func(t *testing.T) {
			expectProblem(t, c.do(t, http.MethodGet, path, nil, ""), http.StatusBadRequest, rpc.InvalidArgument)
		})
	}
}

func testLimits(t *testing.T, c *client) {
	body := orderBody(13, line{106, 1})
	send := func(header http.Header, body string) reply {
		return c.do(t, http.MethodPost, "/orders", header, body)
	}
	for name, header := range map[string]http.Header{
		"no key":        {"Content-Type": {"application/json"}},
		"two keys":      {"Content-Type": {"application/json"}, "Idempotency-Key": {"a", "b"}},
		"empty key":     jsonHeader(""),
		"key too long":  jsonHeader(strings.Repeat("k", shop.MaxKeyLength+1)),
		"key of spaces": jsonHeader("a b"),
		"key not ASCII": jsonHeader("schlüssel"),
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, send(header, body), http.StatusBadRequest, rpc.InvalidArgument)
		})
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Idempotency-Key": {c.key()}}
	expectProblem(t, send(form, body), http.StatusUnsupportedMediaType, "unsupported-media-type")
	padded := strings.Repeat(" ", 64<<10) + body
	expectProblem(t, send(jsonHeader(c.key()), padded), http.StatusRequestEntityTooLarge, "body-too-large")
	longest := strings.Repeat("k", shop.MaxKeyLength-len(c.prefix)) + c.prefix
	if order := c.order(t, longest, 13, line{106, 1}); order.State != shop.StateConfirmed {
		t.Errorf("with the longest key: %+v", order)
	}
	if all := allOrders(t, c, 13, 100); len(all) != 1 {
		t.Errorf("customer 13 has %d orders, and only one request was not refused: %+v", len(all), all)
	}
}
