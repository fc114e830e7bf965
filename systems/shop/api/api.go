// Package api is the public REST interface of the shop, the same in every
// architecture. openapi.yaml describes it and is served at /openapi.yaml;
// failures are problem documents (RFC 9457). It checks the shape and size of what
// comes in and translates; every rule of business is behind the interfaces of
// package shop.
//
// Entry points: NewHandler for the resources, Serve for a server with time limits
// around them.
package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/unit"
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

// NewHandler makes the resources.
func NewHandler(backend Backend) http.Handler {
	a := api{backend}
	f := front.New(front.Config{Problems: front.Problems{Types: types, Of: shop.ProblemOf, Meanings: meanings()},
		Timeout: RequestTimeout, MaxBody: maxBody, Healthy: backend.Healthy})
	f.HandleFunc("GET /openapi.yaml", a.openAPI)
	f.Handle("POST /orders", a.createOrder)
	f.Handle("GET /orders", a.listOrders)
	f.Handle("GET /orders/{orderId}", a.getOrder)
	f.Handle("POST /orders/{orderId}/cancel", a.cancelOrder)
	f.Handle("GET /orders/{orderId}/shipment", a.getShipment)
	f.Handle("GET /products", a.listProducts)
	f.Handle("GET /products/{productId}", a.getProduct)
	f.Handle("GET /products/{productId}/stock", a.getStock)
	f.Handle("GET /customers/{customerId}", a.getCustomer)
	f.Handle("GET /customers/{customerId}/account", a.getAccount)
	return f
}

// api holds the handlers.
type api struct{ backend Backend }

// answer encodes a body.
func answer(ctx context.Context, status int, body any, header ...leanhttp.Field) (front.Answer, error) {
	_, encoding := spans.Begin(ctx, "encode", lab.SegmentEncoding)
	defer encoding.End()
	text, err := json.Marshal(body)
	return front.JSON(status, text, header...), err
}

func (a api) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(document) // a reader who has left is no failure
}

// Serve serves on the listener until ctx ends, then takes no new requests,
// finishes those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, RequestTimeout)
}
