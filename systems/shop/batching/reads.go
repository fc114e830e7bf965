package batching

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// read is a call that reads, and its answer.
type read[I, O any] struct {
	asks   I
	answer O
}

// ask is a read with others or alone.
func ask[I, O any](ctx context.Context, batcher *Batcher[*read[I, O]], asks I, alone func(context.Context, I) (O, error)) (answer O, err error) {
	r := &read[I, O]{asks: asks}
	err = batcher.Do(ctx, r, func(ctx context.Context) (err error) {
		r.answer, err = alone(ctx, asks)
		return err
	})
	if err != nil {
		return answer, err
	}
	return r.answer, nil
}

// NewCatalog batches the quotes that are asked of a catalog in another unit.
func NewCatalog(component shop.Catalog) shop.Catalog {
	c := &prices{Catalog: component}
	c.quotes = newReads(c.quoteAll)
	return c
}

type prices struct {
	shop.Catalog
	quotes *Batcher[*quote]
}

type quote = read[*shoppb.QuoteRequest, *shoppb.QuoteResponse]

// Quote implements shop.Catalog.
func (c *prices) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return ask(ctx, c.quotes, in, c.Catalog.Quote)
}

// quoteAll prices at once what all of a group ask for.
func (c *prices) quoteAll(ctx context.Context, group []*quote) (plain bool, err error) {
	priced := map[int64]*shoppb.Product{}
	for _, q := range group {
		ids := q.asks.GetProductIds()
		if len(ids) == 0 || len(ids) > shop.MaxLines {
			return false, nil
		}
		for _, id := range ids {
			priced[id] = nil
		}
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(priced)), shop.MaxLines) {
		quoted, err := c.Catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: ids})
		if err != nil {
			return false, err
		}
		for _, product := range quoted.GetProducts() {
			priced[product.GetProductId()] = product
		}
	}
	for _, q := range group {
		q.answer = &shoppb.QuoteResponse{}
		for _, id := range q.asks.GetProductIds() { // who gets a message may change it
			q.answer.Products = append(q.answer.Products, proto.CloneOf(priced[id]))
		}
	}
	return true, nil
}

// NewCustomers batches the customers who are asked for in another unit.
func NewCustomers(component shop.Customers) shop.Customers {
	c := &buyers{Customers: component}
	c.known = newReads(c.getAll)
	return c
}

type buyers struct {
	shop.Customers
	known *Batcher[*buyer]
}

type buyer = read[*shoppb.GetCustomerRequest, *shoppb.Customer]

// GetCustomer implements shop.Customers.
func (c *buyers) GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	found, err := ask(ctx, c.known, in, c.Customers.GetCustomer)
	if err == nil && found == nil { // not among those of a group: alone, it is said why
		return c.Customers.GetCustomer(ctx, in)
	}
	return found, err
}

// getAll asks at once for all whom a group wants to know.
func (c *buyers) getAll(ctx context.Context, group []*buyer) (plain bool, err error) {
	wanted := map[int64]*shoppb.Customer{}
	for _, b := range group {
		wanted[b.asks.GetCustomerId()] = nil
	}
	answer, err := c.Customers.GetCustomers(ctx, &shoppb.GetCustomersRequest{CustomerIds: slices.Sorted(maps.Keys(wanted))})
	if err != nil {
		return false, err
	}
	for _, customer := range answer.GetCustomers() {
		wanted[customer.GetCustomerId()] = customer
	}
	for _, b := range group {
		if customer := wanted[b.asks.GetCustomerId()]; customer != nil {
			b.answer = proto.CloneOf(customer) // who gets a message may change it
		}
	}
	return true, nil
}
