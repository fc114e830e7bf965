package api

import (
	"net/http"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// keyHeader is the header of the idempotency key.
const keyHeader = "Idempotency-Key"

func (a api) createOrder(r *http.Request) (answer, error) {
	if _, err := query(r); err != nil {
		return answer{}, err
	}
	keys := r.Header.Values(keyHeader)
	if len(keys) != 1 {
		return answer{}, shop.Problemf(shop.InvalidArgument, "send exactly one header %s", keyHeader)
	}
	request, err := readNewOrder(r)
	if err != nil {
		return answer{}, err
	}
	request.IdempotencyKey = keys[0]
	if err := shop.CheckNewOrder(request); err != nil {
		return answer{}, err
	}
	created, err := a.backend.Orders.CreateOrder(r.Context(), request)
	if err != nil {
		return answer{}, err
	}
	order := orderBody(created.GetOrder())
	status := http.StatusCreated
	switch {
	case !order.State.Final():
		status = http.StatusAccepted
	case created.GetReplayed():
		status = http.StatusOK
	}
	return answer{status, order, map[string]string{"Location": "/orders/" + order.OrderID}}, nil
}

func readNewOrder(r *http.Request) (*shoppb.CreateOrderRequest, error) {
	var body newOrder
	if err := readJSON(r, &body); err != nil {
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

func (a api) cancelOrder(r *http.Request) (answer, error) {
	if _, err := query(r); err != nil {
		return answer{}, err
	}
	order, err := a.backend.Orders.CancelOrder(r.Context(),
		&shoppb.CancelOrderRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK
	if order.GetState() != string(shop.StateCancelled) {
		status = http.StatusAccepted
	}
	return answer{status: status, body: orderBody(order)}, nil
}

func (a api) getOrder(r *http.Request) (answer, error) {
	if _, err := query(r); err != nil {
		return answer{}, err
	}
	order, err := a.backend.OrderViews.GetOrder(r.Context(),
		&shoppb.GetOrderRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: orderBody(order)}, nil
}

func (a api) getShipment(r *http.Request) (answer, error) {
	if _, err := query(r); err != nil {
		return answer{}, err
	}
	s, err := a.backend.Shipping.GetShipment(r.Context(),
		&shoppb.GetShipmentRequest{OrderId: r.PathValue("orderId")})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: Shipment{s.GetOrderId(), s.GetState(), s.GetRecipient(),
		s.GetAddress()}}, nil
}

func (a api) listOrders(r *http.Request) (answer, error) {
	values, err := query(r, "customerId", "pageSize", "cursor")
	if err != nil {
		return answer{}, err
	}
	customer, err := whole("customerId", values.Get("customerId"))
	if err != nil {
		return answer{}, err
	}
	size, cursor, err := page(values)
	if err != nil {
		return answer{}, err
	}
	found, err := a.backend.OrderViews.ListOrders(r.Context(),
		&shoppb.ListOrdersRequest{CustomerId: customer, PageSize: size, Cursor: cursor})
	if err != nil {
		return answer{}, err
	}
	body := Orders{Orders: make([]Order, len(found.GetOrders())), NextCursor: found.GetNextCursor()}
	for i, order := range found.GetOrders() {
		body.Orders[i] = orderBody(order)
	}
	return answer{status: http.StatusOK, body: body}, nil
}
