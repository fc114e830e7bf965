package api

import (
	"context"
	"net/http"

	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

func (a api) listProducts(ctx context.Context, r *http.Request) (front.Answer, error) {
	values, err := query(r, "namePrefix", "pageSize", "cursor")
	if err != nil {
		return front.Answer{}, err
	}
	size, cursor, err := page(values)
	if err != nil {
		return front.Answer{}, err
	}
	found, err := a.backend.Catalog.ListProducts(ctx, &shoppb.ListProductsRequest{
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

func (a api) getProduct(ctx context.Context, r *http.Request) (front.Answer, error) {
	id, err := byID(r, "productId")
	if err != nil {
		return front.Answer{}, err
	}
	product, err := a.backend.Catalog.GetProduct(ctx, &shoppb.GetProductRequest{ProductId: id})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, productBody(product))
}

func (a api) getStock(ctx context.Context, r *http.Request) (front.Answer, error) {
	id, err := byID(r, "productId")
	if err != nil {
		return front.Answer{}, err
	}
	s, err := a.backend.StockViews.GetStock(ctx, &shoppb.GetStockRequest{ProductId: id})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, Stock{s.GetProductId(), s.GetOnHand(), s.GetReserved(),
		s.GetSold()})
}

func (a api) getCustomer(ctx context.Context, r *http.Request) (front.Answer, error) {
	id, err := byID(r, "customerId")
	if err != nil {
		return front.Answer{}, err
	}
	c, err := a.backend.Customers.GetCustomer(ctx, &shoppb.GetCustomerRequest{CustomerId: id})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, Customer{c.GetCustomerId(), c.GetName(), c.GetEmail(),
		c.GetAddress()})
}

func (a api) getAccount(ctx context.Context, r *http.Request) (front.Answer, error) {
	id, err := byID(r, "customerId")
	if err != nil {
		return front.Answer{}, err
	}
	account, err := a.backend.Payments.GetAccount(ctx, &shoppb.GetAccountRequest{CustomerId: id})
	if err != nil {
		return front.Answer{}, err
	}
	return answer(ctx, http.StatusOK, Account{account.GetCustomerId(), account.GetBalanceCents()})
}

// byID reads the id in the path of a request that has no parameters.
func byID(r *http.Request, name string) (int64, error) {
	if _, err := query(r); err != nil {
		return 0, err
	}
	return whole(name, r.PathValue(name))
}
