package assembly_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// finalWithin limits the wait for an order's end, and pollEvery is the pause between two
// looks.
const (
	finalWithin = 2 * time.Minute
	pollEvery   = 10 * time.Millisecond
)

// client speaks to one shop.
type client struct {
	base   string
	http   *http.Client
	prefix string // of idempotency keys, new for each run
	keys   atomic.Int64
}

func newClient(base string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 128
	return &client{
		base: strings.TrimSuffix(base, "/"), prefix: fmt.Sprintf("suite-%d", time.Now().UnixNano()),
		http: &http.Client{Transport: transport, Timeout: 2 * finalWithin},
	}
}

// key returns a new idempotency key.
func (c *client) key() string { return fmt.Sprintf("%s-%d", c.prefix, c.keys.Add(1)) }

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// into decodes the body; unknown fields are errors.
func (r reply) into(t testing.TB, body any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		t.Fatalf("answer %d %s: %v", r.status, r.body, err)
	}
}

// problem is the document of a failure.
type problem struct {
	Type, Title, Detail string
	Status              int
}

// send does one request. It may be called from several goroutines.
func (c *client) send(method, path string, header http.Header, body string) (reply, error) {
	request, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	maps.Copy(request.Header, header)
	return roundTrip(c.http, request)
}

// roundTrip sends a request and reads the answer to its end.
func roundTrip(client *http.Client, request *http.Request) (reply, error) {
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, text}, errors.Join(err, response.Body.Close())
}

func (c *client) do(t testing.TB, method, path string, header http.Header, body string) reply {
	t.Helper()
	got, err := c.send(method, path, header, body)
	testset.Must(t, err)
	return got
}

// get reads a resource that must be there.
func (c *client) get(t testing.TB, path string, body any) {
	t.Helper()
	got := c.do(t, http.MethodGet, path, nil, "")
	if got.status != http.StatusOK {
		t.Fatalf("GET %s = %d %s", path, got.status, got.body)
	}
	got.into(t, body)
}

// awaitHealth waits until the shop is healthy.
func (c *client) awaitHealth(t *testing.T) {
	t.Helper()
	eventually(t, "health", func() (string, bool) {
		got, err := c.send(http.MethodGet, "/health", nil, "")
		return fmt.Sprintf("%d, %v", got.status, err), got.status == http.StatusOK
	})
}

// settle waits until the shop has no work left.
func (c *client) settle(t *testing.T) {
	t.Helper()
	got := c.do(t, http.MethodGet, assembly.SettledPath, nil, "")
	if got.status != http.StatusNoContent || !strings.HasPrefix(got.header.Get("Server-Timing"), "settle;dur=") {
		t.Fatalf("%s was answered with %d %v", assembly.SettledPath, got.status, got.header)
	}
}

// expectProblem checks that a reply is the problem of that kind, in full shape.
func expectProblem(t testing.TB, got reply, status int, kind rpc.Kind) {
	t.Helper()
	if media := got.header.Get("Content-Type"); got.status != status || media != "application/problem+json" {
		t.Fatalf("answer %d %s %s, want %d and a problem document", got.status, media, got.body, status)
	}
	var p problem
	got.into(t, &p)
	if p.Type != api.TypeOf(kind) || p.Status != status || p.Title == "" || p.Detail == "" {
		t.Errorf("problem %+v, want type %s and status %d with title and detail", p, api.TypeOf(kind), status)
	}
}

// line is a line of an order: a product and a quantity.
type line struct{ product, quantity int64 }

// orderBody returns the body of a new order.
func orderBody(customer int64, lines ...line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = fmt.Sprintf(`{"productId":%d,"quantity":%d}`, l.product, l.quantity)
	}
	return fmt.Sprintf(`{"customerId":%d,"lines":[%s]}`, customer, strings.Join(texts, ","))
}

func jsonHeader(key string) http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
}

// post sends a new order and returns the reply as it came.
func (c *client) post(t testing.TB, key, body string) reply {
	t.Helper()
	return c.do(t, http.MethodPost, "/orders", jsonHeader(key), body)
}

// place sends a new order, and the same again while it is not answered in time: on
// a slow host some are not, and the key makes it safe.
func (c *client) place(key, body string) (reply, error) {
	for deadline := time.Now().Add(finalWithin); ; time.Sleep(pollEvery) {
		got, err := c.send(http.MethodPost, "/orders", jsonHeader(key), body)
		if err != nil || got.status != http.StatusGatewayTimeout || time.Now().After(deadline) {
			return got, err
		}
	}
}

// order places an order and follows it to its end.
func (c *client) order(t testing.TB, key string, customer int64, lines ...line) api.Order {
	t.Helper()
	got, err := c.place(key, orderBody(customer, lines...))
	if err != nil || got.status < 200 || got.status > 202 {
		t.Fatalf("POST /orders = %d %s, %v", got.status, got.body, err)
	}
	var order api.Order
	got.into(t, &order)
	if want := "/orders/" + order.OrderID; got.header.Get("Location") != want {
		t.Errorf("Location = %q, want %q", got.header.Get("Location"), want)
	}
	return c.final(t, order.OrderID, func(s shop.State) bool { return s.Final() })
}

// final reads an order until its state is as wished. Until a view has caught up,
// the order may not be there.
func (c *client) final(t testing.TB, id string, wished func(shop.State) bool) api.Order {
	t.Helper()
	for deadline := time.Now().Add(finalWithin); ; time.Sleep(pollEvery) {
		got := c.do(t, http.MethodGet, "/orders/"+id, nil, "")
		var order api.Order
		switch got.status {
		case http.StatusOK:
			got.into(t, &order)
			if wished(order.State) {
				return order
			}
		case http.StatusNotFound:
		default:
			t.Fatalf("GET /orders/%s = %d %s", id, got.status, got.body)
		}
		if time.Now().After(deadline) {
			t.Fatalf("order %s is %q after %v: %d %s", id, order.State, finalWithin, got.status, got.body)
		}
	}
}

// eventually checks until the condition holds or time is up: views may lag behind.
func eventually(t testing.TB, what string, holds func() (string, bool)) {
	t.Helper()
	for deadline := time.Now().Add(finalWithin); ; time.Sleep(pollEvery) {
		seen, ok := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still %s after %v", what, seen, finalWithin)
		}
	}
}

func (c *client) stock(t testing.TB, product int64) api.Stock {
	t.Helper()
	var stock api.Stock
	c.get(t, fmt.Sprintf("/products/%d/stock", product), &stock)
	return stock
}

func (c *client) account(t testing.TB, customer int64) api.Account {
	t.Helper()
	var account api.Account
	c.get(t, fmt.Sprintf("/customers/%d/account", customer), &account)
	return account
}

func (c *client) price(t testing.TB, product int64) int64 {
	t.Helper()
	var p api.Product
	c.get(t, fmt.Sprintf("/products/%d", product), &p)
	return p.PriceCents
}
