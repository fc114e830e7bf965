package batching

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// remote is a catalog and customers in another unit: it counts the calls and knows ids up to 100. The first
// call stays until release.
type remote struct {
	shop.Catalog
	shop.Customers
	arrived, release chan struct{}

	mu      sync.Mutex
	calls   []int // the number of items that each call asked for
	failing error
}

func newRemote() *remote {
	return &remote{arrived: make(chan struct{}), release: make(chan struct{})}
}

func (r *remote) called(asked int) error {
	r.mu.Lock()
	r.calls = append(r.calls, asked)
	first, err := len(r.calls) == 1, r.failing
	r.mu.Unlock()
	if first {
		close(r.arrived)
		<-r.release
		return nil
	}
	return err
}

func (r *remote) Quote(_ context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	if err := r.called(len(in.GetProductIds())); err != nil {
		return nil, err
	}
	answer := &shoppb.QuoteResponse{}
	for _, id := range in.GetProductIds() {
		if id > 100 {
			return nil, rpc.Problemf(shop.UnknownProduct, "there is no product %d", id)
		}
		answer.Products = append(answer.Products, &shoppb.Product{ProductId: id, PriceCents: 7 * id})
	}
	return answer, nil
}

func (r *remote) GetCustomer(_ context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	if err := r.called(1); err != nil {
		return nil, err
	}
	if in.GetCustomerId() > 100 {
		return nil, rpc.Problemf(shop.UnknownCustomer, "there is no customer %d", in.GetCustomerId())
	}
	return &shoppb.Customer{CustomerId: in.GetCustomerId()}, nil
}

func (r *remote) GetCustomers(
	_ context.Context, in *shoppb.GetCustomersRequest,
) (*shoppb.GetCustomersResponse, error) {
	if err := r.called(len(in.GetCustomerIds())); err != nil {
		return nil, err
	}
	answer := &shoppb.GetCustomersResponse{}
	for _, id := range slices.Backward(in.GetCustomerIds()) {
		if id <= 100 {
			answer.Customers = append(answer.Customers, &shoppb.Customer{CustomerId: id})
		}
	}
	return answer, nil
}

// behind makes calls that all wait for a first one, and returns their errors by number.
func behind(
	t *testing.T, r *remote, waiting func() int, calls int, first func() error, call func(n int) error,
) []error {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		if err := first(); err != nil {
			t.Error(err)
		}
	})
	<-r.arrived
	errs := make([]error, calls)
	for n := range calls {
		all.Go(func() { errs[n] = call(n) })
	}
	awaitCalls(t, waiting, calls)
	close(r.release)
	all.Wait()
	return errs
}

// TestQuotesShareCalls: each caller gets its own products in its own order, with no more calls than the
// products need together; an unknown product is an error for its own caller only.
func TestQuotesShareCalls(t *testing.T) {
	for name, c := range map[string]struct {
		unknown int64 // asked for by the last caller; 0: none
		calls   int
	}{"all known": {0, 3}, "one unknown": {101, 1 + 2 + 10}} {
		r := newRemote()
		prices := NewCatalog(r).(*prices)
		quoted := make([]*shoppb.QuoteResponse, 10)
		ids := func(n int) []int64 {
			wanted := []int64{5, int64(n) + 1} // one product that all want
			for id := range int64(5) {
				wanted = append(wanted, 11+9*int64(n)-id*int64(n%2)) // and five of the caller's own, mostly
			}
			if n == 9 && c.unknown > 0 {
				wanted[2] = c.unknown
			}
			return slices.Compact(wanted)
		}
		errs := behind(t, r, prices.quotes.count, 10,
			func() error {
				_, err := prices.Quote(t.Context(), &shoppb.QuoteRequest{ProductIds: []int64{1}})
				return err
			},
			func(n int) (err error) {
				quoted[n], err = prices.Quote(t.Context(), &shoppb.QuoteRequest{ProductIds: ids(n)})
				return err
			})
		for n, err := range errs {
			if n == 9 && c.unknown > 0 {
				if !shop.IsKind(err, shop.UnknownProduct) {
					t.Errorf("%s: quote %d: %v", name, n, err)
				}
				continue
			}
			var got []int64
			for _, product := range quoted[n].GetProducts() {
				got = append(got, product.GetProductId())
				if product.GetPriceCents() != 7*product.GetProductId() {
					t.Errorf("%s: quote %d: %v", name, n, product)
				}
				product.PriceCents = 0 // the receiver may change its message
			}
			if err != nil || !slices.Equal(got, ids(n)) {
				t.Errorf("%s: quote %d: %v, want %v, error %v", name, n, got, ids(n), err)
			}
		}
		if len(r.calls) > c.calls || slices.Max(r.calls) > shop.MaxLines {
			t.Errorf("%s: calls for %v products", name, r.calls)
		}
	}
}

// TestCustomersShareACall: an unknown customer is an error for its own caller only.
func TestCustomersShareACall(t *testing.T) {
	r := newRemote()
	buyers := NewCustomers(r).(*buyers)
	found := make([]*shoppb.Customer, 10)
	get := func(n int) (err error) {
		id := int64(n/2 + 1) // each twice
		if n == 9 {
			id = 101
		}
		found[n], err = buyers.GetCustomer(t.Context(), &shoppb.GetCustomerRequest{CustomerId: id})
		return err
	}
	first := func() error {
		_, err := buyers.GetCustomer(t.Context(), &shoppb.GetCustomerRequest{CustomerId: 1})
		return err
	}
	errs := behind(t, r, buyers.known.count, 10, first, get)
	for n, err := range errs {
		if n == 9 {
			if !shop.IsKind(err, shop.UnknownCustomer) {
				t.Errorf("an unknown customer: %v, error %v", found[n], err)
			}
		} else if err != nil || found[n].GetCustomerId() != int64(n/2+1) || n%2 == 1 && found[n] == found[n-1] {
			t.Errorf("customer %d: %v, error %v", n, found[n], err)
		}
	}
	if want := []int{1, 6, 1}; !slices.Equal(r.calls, want) {
		t.Errorf("calls for %v customers, want %v", r.calls, want)
	}
}

// TestAnUnavailableUnitIsAskedOnce: a batch that fails since a unit is down is not repeated call by call.
func TestAnUnavailableUnitIsAskedOnce(t *testing.T) {
	r := newRemote()
	r.failing = rpc.Problemf(rpc.Unavailable, "planted")
	buyers := NewCustomers(r).(*buyers)
	get := func(n int) error {
		_, err := buyers.GetCustomer(t.Context(), &shoppb.GetCustomerRequest{CustomerId: int64(n + 1)})
		return err
	}
	for n, err := range behind(t, r, buyers.known.count, 5, func() error { return get(0) }, get) {
		if !shop.IsKind(err, rpc.Unavailable) {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if want := []int{1, 5}; !slices.Equal(r.calls, want) {
		t.Errorf("calls for %v customers, want %v", r.calls, want)
	}
}
