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

// RequestTimeout is the deadline of every request: it crosses all bindings.
const RequestTimeout = 30 * time.Second

// api holds the handlers of the resources, in front of the components.
type api struct{ shop.Parts }

// NewHandler returns the handler of all resources. healthy returns an error if a part that requests need does
// not answer; without it the shop always counts as healthy. logError gets the failures of the shop itself; it
// may be nil.
func NewHandler(
	parts shop.Parts, healthy func(ctx context.Context) error, logError func(error),
) http.Handler {
	a := api{parts}
	f := front.New(front.Config{Timeout: RequestTimeout, MaxBody: maxBody, Healthy: healthy,
		Problems: front.Problems{Types: typePrefix, Of: shop.ProblemOf, Meanings: meanings(), LogError: logError}})
	f.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(document) // a client that has disconnected is no failure
	})
	f.Handle("POST /orders", a.createOrder)
	f.Handle("GET /orders", a.listOrders)
	f.Handle("GET /orders/{orderId}", one(orderID, a.order))
	f.Handle("POST /orders/{orderId}/cancel", a.cancelOrder)
	f.Handle("GET /orders/{orderId}/page", one(orderID, a.orderPage))
	f.Handle("GET /orders/{orderId}/shipment", one(orderID, a.shipment))
	f.Handle("GET /products", a.listProducts)
	f.Handle("GET /products/{productId}", one(number("productId"), a.product))
	f.Handle("PUT /products/{productId}/price", a.reprice)
	f.Handle("GET /products/{productId}/stock", one(number("productId"), a.stock))
	f.Handle("GET /customers/{customerId}", one(number("customerId"), a.customer))
	f.Handle("GET /customers/{customerId}/account", one(number("customerId"), a.account))
	return f
}

// one returns the handler of a resource that has an id and no parameters. It answers with the result of find.
func one[I, B any](
	id func(*http.Request) (I, error), find func(context.Context, I) (B, error),
) func(context.Context, *http.Request) (front.Answer, error) {
	return func(ctx context.Context, r *http.Request) (front.Answer, error) {
		if _, err := query(r); err != nil {
			return front.Answer{}, err
		}
		wanted, err := id(r)
		if err != nil {
			return front.Answer{}, err
		}
		body, err := find(ctx, wanted)
		if err != nil {
			return front.Answer{}, err
		}
		return answer(ctx, http.StatusOK, body)
	}
}

// orderID reads the id of an order. It is checked here, too: not every binding could carry any text.
func orderID(r *http.Request) (string, error) {
	id := r.PathValue("orderId")
	return id, shop.CheckOrderID(id)
}

// number reads an id that is a number.
func number(name string) func(*http.Request) (int64, error) {
	return func(r *http.Request) (int64, error) { return whole(name, r.PathValue(name)) }
}

// answer encodes a body.
func answer(ctx context.Context, status int, body any, header ...leanhttp.Field) (front.Answer, error) {
	_, encoding := spans.Begin(ctx, "encode", lab.SegmentEncoding)
	defer encoding.End()
	text, err := json.Marshal(body)
	return front.JSON(status, text, header...), err
}

// Serve serves on the listener until ctx ends, then takes no new requests,
// finishes those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, RequestTimeout)
}
