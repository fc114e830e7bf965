package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/unit"
)

// scripted is a write side with prepared answers.
type scripted struct {
	answer *shoppb.CreateOrderResponse
	err    error
	asked  *shoppb.CreateOrderRequest
	ctx    context.Context
}

func (s *scripted) CreateOrder(
	ctx context.Context, in *shoppb.CreateOrderRequest,
) (*shoppb.CreateOrderResponse, error) {
	s.asked = in
	s.ctx = ctx
	return s.answer, s.err
}

func (s *scripted) CancelOrder(context.Context, *shoppb.CancelOrderRequest) (*shoppb.Order, error) {
	return s.answer.GetOrder(), s.err
}

const body = `{"customerId":7,"lines":[{"productId":1,"quantity":2}]}`

func order(handler http.Handler) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set(keyHeader, "key")
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, request)
	return got
}

// TestStates: the state of an order decides the status of the answer.
func TestStates(t *testing.T) {
	cases := []struct {
		state    shop.State
		replayed bool
		want     int
	}{
		{shop.StateConfirmed, false, http.StatusCreated},
		{shop.StateRejected, false, http.StatusCreated},
		{shop.StateConfirmed, true, http.StatusOK},
		{shop.StateCancelled, true, http.StatusOK},
		{shop.StatePending, false, http.StatusAccepted},
		{shop.StatePaid, true, http.StatusAccepted},
	}
	for _, c := range cases {
		backend := &scripted{answer: &shoppb.CreateOrderResponse{Order: &shoppb.Order{OrderId: "o-1",
			State: string(c.state)}, Replayed: c.replayed}}
		got := order(NewHandler(shop.Parts{Orders: backend}, nil, nil))
		if got.Code != c.want || got.Header().Get("Location") != "/orders/o-1" {
			t.Errorf("%s, replayed %v: %d at %q, want %d", c.state, c.replayed, got.Code, got.Header().Get("Location"),
				c.want)
		}
		if in := backend.asked; in.GetIdempotencyKey() != "key" || in.GetCustomerId() != 7 ||
			in.GetLines()[0].GetQuantity() != 2 {
			t.Errorf("the shop was asked for %v", in)
		}
		if _, ok := backend.ctx.Deadline(); !ok {
			t.Error("the request has no deadline")
		}
	}
}

// TestProblems: every kind has a status and a document that tells no secrets.
func TestProblems(t *testing.T) {
	for kind, status := range map[rpc.Kind]int{
		rpc.InvalidArgument: 400, shop.NotFound: 404, shop.UnknownProduct: 404, shop.UnknownCustomer: 404,
		shop.OutOfStock: 409,
		shop.Declined:   402, shop.Conflict: 409, shop.KeyReused: 422, rpc.Unavailable: 503, rpc.Cancelled: 503,
		rpc.DeadlineExceeded: 504, rpc.Internal: 500,
	} {
		secret := &rpc.Problem{Kind: kind, Detail: "what clients may know", Cause: errors.New("password=secret")}
		got := order(NewHandler(shop.Parts{Orders: &scripted{err: fmt.Errorf("inside: %w", secret)}}, nil, nil))
		var document front.Document
		testset.Must(t, json.Unmarshal(got.Body.Bytes(), &document))
		want := front.Document{Type: "urn:cleave:shop:" + string(kind), Title: document.Title,
			Status: status, Detail: secret.Detail}
		if got.Code != status || document != want || document.Title == "" ||
			got.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %+v, want %+v", kind, got.Code, document, want)
		}
		if retry := got.Header().Get("Retry-After"); (retry != "") != (got.Code == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", kind, retry)
		}
	}
	var causes []string
	got := order(NewHandler(shop.Parts{Orders: &scripted{err: errors.New("password=secret")}}, nil,
		func(err error) { causes = append(causes, err.Error()) }))
	if len(causes) != 1 || causes[0] != "POST /orders: password=secret" {
		t.Errorf("the log has %q, want the cause of the fault", causes)
	}
	if got.Code != http.StatusInternalServerError || strings.Contains(got.Body.String(), "secret") {
		t.Errorf("a fault = %d %s", got.Code, got.Body)
	}
}

// TestWrongTypes: the message names the field, or says that the body itself is wrong.
func TestWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		`{"customerId":7,"lines":"all"}`:          "takes: field lines cannot be a string",
		`"all"`:                                   "takes: it cannot be a string",
		`{"customerId":7,"` + "\xff" + `":1}`:     "the body is no UTF-8",
		`{"` + strings.Repeat("x", 1000) + `":1}`: `takes: unknown field "` + strings.Repeat("x", 185),
	} {
		request := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(text))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(keyHeader, "key")
		got := httptest.NewRecorder()
		NewHandler(shop.Parts{}, nil, nil).ServeHTTP(got, request)
		var document front.Document
		testset.Must(t, json.Unmarshal(got.Body.Bytes(), &document))
		if got.Code != http.StatusBadRequest || !strings.HasSuffix(document.Detail, want) {
			t.Errorf("%s: %d %q, want ... %q", text, got.Code, document.Detail, want)
		}
	}
}

// TestTheFirstWrongParameterIsNamed: by its name, whatever their order in the query and in a map.
func TestTheFirstWrongParameterIsNamed(t *testing.T) {
	for range 20 {
		got := httptest.NewRecorder()
		NewHandler(shop.Parts{}, nil, nil).ServeHTTP(got,
			httptest.NewRequest(http.MethodGet, "/products?d=1&c=1&b=1&e=1&pageSize=0&pageSize=0", nil))
		if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `no parameter \"b\": use`) {
			t.Fatalf("%d %s, want parameter b named", got.Code, got.Body)
		}
	}
}

func TestHealth(t *testing.T) {
	for _, c := range []struct {
		healthy func(context.Context) error
		want    int
	}{
		{nil, http.StatusOK},
		{func(context.Context) error { return nil }, http.StatusOK},
		{func(context.Context) error { return errors.New("the database is gone") }, http.StatusServiceUnavailable},
	} {
		got := httptest.NewRecorder()
		NewHandler(shop.Parts{}, c.healthy, nil).ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/health", nil))
		if got.Code != c.want || strings.Contains(got.Body.String(), "gone") {
			t.Errorf("health = %d %s, want %d", got.Code, got.Body, c.want)
		}
	}
}

// TestDeepNesting: a body of the greatest size that is nothing but nested is refused as any other.
func TestDeepNesting(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "/orders",
		strings.NewReader(strings.Repeat("[", maxBody)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(keyHeader, "key")
	got := httptest.NewRecorder()
	NewHandler(shop.Parts{}, nil, nil).ServeHTTP(got, request)
	const want = "not what this resource takes"
	if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), want) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// pipe is a listener with one connection, without a network: time in it is virtual.
type pipe struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClient sends headers and half a body, and then nothing.
func TestSlowClient(t *testing.T) {
	for _, c := range []struct {
		name, sent, answer string
		within             time.Duration
	}{
		{"half a header", "POST /orders HTTP/1.1\r\nHost:", "", unit.FrontHeaderTimeout},
		{"half a body", "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\n" +
			keyHeader + ": k\r\nContent-Length: 100\r\n\r\n{", "request-timeout", unit.FrontReadTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				listener := &pipe{make(chan net.Conn, 1), make(chan struct{})}
				listener.connections <- theirs
				ctx, stop := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- Serve(ctx, listener, NewHandler(shop.Parts{}, nil, nil)) }()
				began := time.Now()
				go func() { _, _ = io.WriteString(ours, c.sent) }()
				text, _ := io.ReadAll(bufio.NewReader(ours))
				if took := time.Since(began); took > c.within+time.Second {
					t.Errorf("the client was cut off after %v, want %v", took, c.within)
				}
				if !strings.Contains(string(text), c.answer) {
					t.Errorf("answer %q, want one with %q", text, c.answer)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestServeFails: a listener that is gone is an error, not silence.
func TestServeFails(t *testing.T) {
	listener := &pipe{make(chan net.Conn), make(chan struct{})}
	_ = listener.Close()
	if err := Serve(context.Background(), listener, http.NotFoundHandler()); err == nil {
		t.Error("no error")
	}
}
