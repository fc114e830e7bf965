// Package api is the public REST interface of the shop, the same in every
// architecture. openapi.yaml describes it and is served at /openapi.yaml;
// failures are problem documents (RFC 9457). It checks the shape and size of what
// comes in and translates; every rule of business is behind the interfaces of
// package shop.
//
// Entry points: NewHandler for the routes, NewServer for a server with time
// limits around them.
package api

import (
	"context"
	_ "embed"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
)

//go:embed openapi.yaml
var document []byte

// Document returns the OpenAPI description of the interface.
func Document() []byte { return append([]byte(nil), document...) }

// Backend is what the interface is in front of.
type Backend struct {
	Catalog    shop.Catalog
	Customers  shop.Customers
	Payments   shop.Payments
	Shipping   shop.Shipping
	Orders     shop.Orders
	OrderViews shop.OrderViews
	StockViews shop.StockViews
	// Healthy returns nil when a request would find all it needs.
	Healthy func(ctx context.Context) error
}

// RequestTimeout is the deadline of every request: it crosses all bindings.
const RequestTimeout = 30 * time.Second

// NewHandler makes the routes.
func NewHandler(backend Backend) http.Handler {
	a := api{backend}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", a.openAPI)
	mux.HandleFunc("GET /health", answering(a.health))
	mux.HandleFunc("POST /orders", answering(a.createOrder))
	mux.HandleFunc("GET /orders", answering(a.listOrders))
	mux.HandleFunc("GET /orders/{orderId}", answering(a.getOrder))
	mux.HandleFunc("POST /orders/{orderId}/cancel", answering(a.cancelOrder))
	mux.HandleFunc("GET /orders/{orderId}/shipment", answering(a.getShipment))
	mux.HandleFunc("GET /products", answering(a.listProducts))
	mux.HandleFunc("GET /products/{productId}", answering(a.getProduct))
	mux.HandleFunc("GET /products/{productId}/stock", answering(a.getStock))
	mux.HandleFunc("GET /customers/{customerId}", answering(a.getCustomer))
	mux.HandleFunc("GET /customers/{customerId}/account", answering(a.getAccount))
	return withProblems(mux)
}

// api holds the handlers.
type api struct{ backend Backend }

// answer is what a handler found: a status and a body to be encoded.
type answer struct {
	status int
	body   any
	header map[string]string
}

// answering makes a handler of a function that answers or fails.
func answering(handle func(r *http.Request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), RequestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		found, err := handle(r)
		if err != nil {
			writeProblem(w, err)
			return
		}
		for name, value := range found.header {
			w.Header().Set(name, value)
		}
		_, encoding := spans.Begin(ctx, "encode", lab.SegmentEncoding)
		writeJSON(w, found.status, "application/json", found.body)
		encoding.End()
	}
}

func (a api) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(document) // a reader who has left is no failure
}

func (a api) health(r *http.Request) (answer, error) {
	if _, err := query(r); err != nil {
		return answer{}, err
	}
	if a.backend.Healthy != nil {
		if err := a.backend.Healthy(r.Context()); err != nil {
			return answer{}, &shop.Problem{Kind: shop.Unavailable, Detail: "a part of the shop does not answer",
				Cause: err}
		}
	}
	return answer{status: http.StatusOK, body: health{Status: "up"}}, nil
}
