package batching

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// read is a call that reads, and its answer. A call that a batch cannot answer is carried out alone, so that
// it gets its own error.
type read[I, O any] struct {
	asks   I
	answer O
}

// ask makes a read, together with others or alone, and returns its answer.
func ask[I, O any](ctx context.Context, batcher *Batcher[*read[I, O]], asks I) (answer O, err error) {
	r := &read[I, O]{asks: asks}
	if _, err = batcher.Do(ctx, r); err != nil {
		return answer, err
	}
	return r.answer, nil
}

// NewCatalog batches the quotes that are asked of a catalog in another unit.
func NewCatalog(component shop.Catalog) shop.Catalog {
	c := &prices{Catalog: component}
	c.quotes = New(nil, c.quoteAll)
	return c
}

type prices struct {
	shop.Catalog
	quotes *Batcher[*quote]
}

type quote = read[*shoppb.QuoteRequest, *shoppb.QuoteResponse]

// Quote implements shop.Catalog.
func (c *prices) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return ask(ctx, c.quotes, in)
}

// quoteAll asks for the products of a group at once.
func (c *prices) quoteAll(ctx context.Context, group []*quote) (outcomes []steps.Outcome, err error) {
	outcomes = make([]steps.Outcome, len(group))
	if len(group) == 1 {
		group[0].answer, err = c.Catalog.Quote(ctx, group[0].asks)
		return outcomes, err
	}
	priced := map[int64]*shoppb.Product{}
	for _, q := range group {
		ids := q.asks.GetProductIds()
		if len(ids) == 0 || len(ids) > shop.MaxLines {
			return nil, ErrAlone
		}
		for _, id := range ids {
			priced[id] = nil
		}
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(priced)), shop.MaxLines) {
		quoted, err := c.Catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: ids})
		if err != nil {
			return nil, err
		}
		for _, product := range quoted.GetProducts() {
			priced[product.GetProductId()] = product
		}
	}
	for _, q := range group {
		q.answer = &shoppb.QuoteResponse{}
		for _, id := range q.asks.GetProductIds() { // the caller may change the message
			q.answer.Products = append(q.answer.Products, proto.CloneOf(priced[id]))
		}
	}
	return outcomes, nil
}

// NewCustomers batches the customers that are asked of another unit.
func NewCustomers(component shop.Customers) shop.Customers {
	c := &buyers{Customers: component}
	c.known = New(nil, c.getAll)
	return c
}

type buyers struct {
	shop.Customers
	known *Batcher[*buyer]
}

type buyer = read[*shoppb.GetCustomerRequest, *shoppb.Customer]

// GetCustomer implements shop.Customers.
func (c *buyers) GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	return ask(ctx, c.known, in)
}

// getAll asks for the customers of a group at once.
func (c *buyers) getAll(ctx context.Context, group []*buyer) (outcomes []steps.Outcome, err error) {
	outcomes = make([]steps.Outcome, len(group))
	if len(group) == 1 {
		group[0].answer, err = c.Customers.GetCustomer(ctx, group[0].asks)
		return outcomes, err
	}
	wanted := map[int64]*shoppb.Customer{}
	for _, b := range group {
		wanted[b.asks.GetCustomerId()] = nil
	}
	answer, err := c.Customers.GetCustomers(ctx,
		&shoppb.GetCustomersRequest{CustomerIds: slices.Sorted(maps.Keys(wanted))})
	if err != nil {
		return nil, err
	}
	for _, customer := range answer.GetCustomers() {
		wanted[customer.GetCustomerId()] = customer
	}
	for i, b := range group {
		if customer := wanted[b.asks.GetCustomerId()]; customer != nil {
			b.answer = proto.CloneOf(customer) // the caller may change the message
		} else {
			outcomes[i].Err = ErrAlone
		}
	}
	return outcomes, nil
}
