package api

import (
	"context"
	"net/http"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// keyHeader is the header of the idempotency key.
const keyHeader = "Idempotency-Key"

func (a api) createOrder(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	keys := r.Header.Values(keyHeader)
	if len(keys) != 1 {
		return front.Answer{}, shop.Problemf(shop.InvalidArgument, "send exactly one header %s", keyHeader)
	}
	request, err := readNewOrder(ctx, r)
	if err != nil {
		return front.Answer{}, err
	}
	request.IdempotencyKey = keys[0]
	if err := shop.CheckNewOrder(request); err != nil {
		return front.Answer{}, err
	}
	created, err := a.backend.Orders.CreateOrder(ctx, request)
	if err != nil {
		return front.Answer{}, err
	}
	order := orderBody(created.GetOrder())
	status := http.StatusCreated
	switch {
	case !order.State.Final():
		status = http.StatusAccepted
	case created.GetReplayed():
		status = http.StatusOK
	}
	return answer(ctx, status, order, leanhttp.Field{Name: "Location", Value: "/orders/" + order.OrderID})
}

func readNewOrder(ctx context.Context, r *http.Request) (*shoppb.CreateOrderRequest, error) {
	var body newOrder
	if err := readJSON(ctx, r, &body); err != nil {
		return nil, err
	}
	if body.CustomerID == nil || body.Lines == nil {
		return nil, shop.Problemf(shop.InvalidArgument, "an order needs customerId and lines")
	}
	request := &shoppb.CreateOrderRequest{CustomerId: *body.CustomerID,
		Lines: make([]*shoppb.Line, len(body.Lines))}
	for i, line := range body.Lines {
		if line.ProductID == nil || line.Quantity == nil {
			return nil, shop.Problemf(shop.InvalidArgument, "line %d needs productId and quantity", i+1)
		}
		request.Lines[i] = &shoppb.Line{ProductId: *line.ProductID, Quantity: *line.Quantity}
	}
	return request, nil
}

func (a api) cancelOrder(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	order, err := a.backend.Orders.CancelOrder(ctx,
		&shoppb.CancelOrderRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return front.Answer{}, err
	}
	status := http.StatusOK
	if order.GetState() != string(shop.StateCancelled) {
		status = http.StatusAccepted
	}
	return answer(ctx, status, orderBody(order))
}

func (a api) getOrder(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	order, err := a.backend.OrderViews.GetOrder(ctx,
		&shoppb.GetOrderRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, orderBody(order))
}

func (a api) getShipment(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	s, err := a.backend.Shipping.GetShipment(ctx,
		&shoppb.GetShipmentRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, Shipment{s.GetOrderId(), s.GetState(), s.GetRecipient(),
		s.GetAddress()})
}

func (a api) listOrders(ctx context.Context, r *http.Request) (front.Answer, error) {
	values, err := query(r, "customerId", "pageSize", "cursor")
	if err != nil {
		return front.Answer{}, err
	}
	customer, err := whole("customerId", values.Get("customerId"))
	if err != nil {
		return front.Answer{}, err
	}
	size, cursor, err := page(values)
	if err != nil {
		return front.Answer{}, err
	}
	found, err := a.backend.OrderViews.ListOrders(ctx,
		&shoppb.ListOrdersRequest{CustomerId: customer, PageSize: size, Cursor: cursor})
	if err != nil {
		return front.Answer{}, err
	}
	body := Orders{Orders: make([]Order, len(found.GetOrders())), NextCursor: found.GetNextCursor()}
	for i, order := range found.GetOrders() {
		body.Orders[i] = orderBody(order)
	}
	return answer(ctx, http.StatusOK, body)
}
