package api

import (
	"context"
	"net/http"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
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
		return front.Answer{}, rpc.Problemf(rpc.InvalidArgument, "send exactly one header %s", keyHeader)
	}
	request, err := readNewOrder(ctx, r)
	if err != nil {
		return front.Answer{}, err
	}
	request.IdempotencyKey = keys[0]
	created, err := a.Orders.CreateOrder(ctx, request)
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
		return nil, rpc.Problemf(rpc.InvalidArgument, "an order needs customerId and lines")
	}
	request := &shoppb.CreateOrderRequest{CustomerId: *body.CustomerID,
		Lines: make([]*shoppb.Line, len(body.Lines))}
	for i, line := range body.Lines {
		if line.ProductID == nil || line.Quantity == nil {
			return nil, rpc.Problemf(rpc.InvalidArgument, "line %d needs productId and quantity", i+1)
		}
		request.Lines[i] = &shoppb.Line{ProductId: *line.ProductID, Quantity: *line.Quantity}
	}
	return request, nil
}

func (a api) cancelOrder(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	order, err := a.Orders.CancelOrder(ctx,
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

func (a api) order(ctx context.Context, id string) (Order, error) {
	order, err := a.OrderViews.GetOrder(ctx, &shoppb.GetOrderRequest{OrderId: id})
	return orderBody(order), err
}

func (a api) shipment(ctx context.Context, id string) (Shipment, error) {
	s, err := a.Shipping.GetShipment(ctx, &shoppb.GetShipmentRequest{OrderId: id})
	return shipmentBody(s), err
}

func (a api) product(ctx context.Context, id int64) (Product, error) {
	product, err := a.Catalog.GetProduct(ctx, &shoppb.GetProductRequest{ProductId: id})
	return productBody(product), err
}

func (a api) reprice(ctx context.Context, r *http.Request) (front.Answer, error) {
	if _, err := query(r); err != nil {
		return front.Answer{}, err
	}
	id, err := whole("productId", r.PathValue("productId"))
	if err != nil {
		return front.Answer{}, err
	}
	var body newPrice
	if err := readJSON(ctx, r, &body); err != nil {
		return front.Answer{}, err
	}
	if body.PriceCents == nil {
		return front.Answer{}, rpc.Problemf(rpc.InvalidArgument, "a price needs priceCents")
	}
	price, err := a.Catalog.Reprice(ctx, &shoppb.RepriceRequest{ProductId: id, PriceCents: *body.PriceCents})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, Price{price.GetProductId(), price.GetPriceCents(), price.GetVersion()})
}

func (a api) stock(ctx context.Context, id int64) (Stock, error) {
	s, err := a.StockViews.GetStock(ctx, &shoppb.GetStockRequest{ProductId: id})
	return Stock{s.GetProductId(), s.GetOnHand(), s.GetReserved(), s.GetSold()}, err
}

func (a api) customer(ctx context.Context, id int64) (Customer, error) {
	c, err := a.Customers.GetCustomer(ctx, &shoppb.GetCustomerRequest{CustomerId: id})
	return Customer{c.GetCustomerId(), c.GetName(), c.GetEmail(), c.GetAddress()}, err
}

func (a api) account(ctx context.Context, id int64) (Account, error) {
	account, err := a.Payments.GetAccount(ctx, &shoppb.GetAccountRequest{CustomerId: id})
	return Account{account.GetCustomerId(), account.GetBalanceCents()}, err
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
	found, err := a.OrderViews.ListOrders(ctx,
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

func (a api) listProducts(ctx context.Context, r *http.Request) (front.Answer, error) {
	values, err := query(r, "namePrefix", "pageSize", "cursor")
	if err != nil {
		return front.Answer{}, err
	}
	size, cursor, err := page(values)
	if err != nil {
		return front.Answer{}, err
	}
	found, err := a.Catalog.ListProducts(ctx, &shoppb.ListProductsRequest{
		NamePrefix: values.Get("namePrefix"), PageSize: size, Cursor: cursor,
	})
	if err != nil {
		return front.Answer{}, err
	}
	body := Products{Products: make([]Product, len(found.GetProducts())), NextCursor: found.GetNextCursor()}
	for i, product := range found.GetProducts() {
		body.Products[i] = productBody(product)
	}
	return answer(ctx, http.StatusOK, body)
}
