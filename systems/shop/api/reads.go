package api

import (
	"net/http"

	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

func (a api) listProducts(r *http.Request) (answer, error) {
	values, err := query(r, "namePrefix", "pageSize", "cursor")
	if err != nil {
		return answer{}, err
	}
	size, cursor, err := page(values)
	if err != nil {
		return answer{}, err
	}
	found, err := a.backend.Catalog.ListProducts(r.Context(), &shoppb.ListProductsRequest{
		NamePrefix: values.Get("namePrefix"), PageSize: size, Cursor: cursor,
	})
	if err != nil {
		return answer{}, err
	}
	body := Products{Products: make([]Product, len(found.GetProducts())), NextCursor: found.GetNextCursor()}
	for i, product := range found.GetProducts() {
		body.Products[i] = productBody(product)
	}
	return answer{status: http.StatusOK, body: body}, nil
}

func (a api) getProduct(r *http.Request) (answer, error) {
	id, err := byID(r, "productId")
	if err != nil {
		return answer{}, err
	}
	product, err := a.backend.Catalog.GetProduct(r.Context(), &shoppb.GetProductRequest{ProductId: id})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: productBody(product)}, nil
}

func (a api) getStock(r *http.Request) (answer, error) {
	id, err := byID(r, "productId")
	if err != nil {
		return answer{}, err
	}
	s, err := a.backend.StockViews.GetStock(r.Context(), &shoppb.GetStockRequest{ProductId: id})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: Stock{s.GetProductId(), s.GetOnHand(), s.GetReserved(),
		s.GetSold()}}, nil
}

func (a api) getCustomer(r *http.Request) (answer, error) {
	id, err := byID(r, "customerId")
	if err != nil {
		return answer{}, err
	}
	c, err := a.backend.Customers.GetCustomer(r.Context(), &shoppb.GetCustomerRequest{CustomerId: id})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: Customer{c.GetCustomerId(), c.GetName(), c.GetEmail(),
		c.GetAddress()}}, nil
}

func (a api) getAccount(r *http.Request) (answer, error) {
	id, err := byID(r, "customerId")
	if err != nil {
		return answer{}, err
	}
	account, err := a.backend.Payments.GetAccount(r.Context(), &shoppb.GetAccountRequest{CustomerId: id})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: Account{account.GetCustomerId(), account.GetBalanceCents(),
		account.GetHeldCents()}}, nil
}

// byID reads the id in the path of a request that has no parameters.
func byID(r *http.Request, name string) (int64, error) {
	if _, err := query(r); err != nil {
		return 0, err
	}
	return whole(name, r.PathValue(name))
}
