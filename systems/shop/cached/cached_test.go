package cached

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// owner counts what it is asked for, and takes a while to answer.
type owner struct {
	shop.Catalog
	shop.StockViews
	asked int
	cents int64
	takes time.Duration
	err   error
}

func (o *owner) GetProduct(_ context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	o.asked++
	found := &shoppb.Product{ProductId: in.GetProductId(), PriceCents: o.cents}
	time.Sleep(o.takes)
	return found, o.err
}

func (o *owner) Reprice(_ context.Context, in *shoppb.RepriceRequest) (*shoppb.Price, error) {
	o.cents = in.GetPriceCents()
	return &shoppb.Price{}, nil
}

func (o *owner) GetStock(_ context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	o.asked++
	return &shoppb.Stock{ProductId: in.GetProductId()}, nil
}

// expect reads a product and checks its price and how often the owner was asked.
func expect(t *testing.T, c Catalog, id, cents int64, o *owner, asked int) {
	t.Helper()
	p, err := c.GetProduct(t.Context(), &shoppb.GetProductRequest{ProductId: id})
	if err != nil || p.GetProductId() != id || p.GetPriceCents() != cents || o.asked != asked {
		t.Errorf("%v (%v), asked %d times; want product %d of %d cents, asked %d times", p, err, o.asked, id, cents,
			asked)
	}
	p.PriceCents = -1 // the caller may change its copy
}

// TestAnswersGrowNoOlder than the time to live, counted from before the owner was asked.
func TestAnswersGrowNoOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &owner{cents: 100, takes: TimeToLive / 2}
		c := NewCatalog(o, false)
		expect(t, c, 1, 100, o, 1)
		o.takes = 0
		if _, err := c.Reprice(t.Context(), &shoppb.RepriceRequest{ProductId: 1, PriceCents: 200}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(TimeToLive/2 - 1)
		expect(t, c, 1, 100, o, 1)
		expect(t, c, 1, 100, o, 1)
		expect(t, c, 2, 200, o, 2)
		time.Sleep(time.Nanosecond)
		expect(t, c, 1, 200, o, 3)
		expect(t, c, 1, 200, o, 3)
	})
}

// TestWhatTheUnitChangesItselfIsForgotten, and an unknown product is never kept.
func TestWhatTheUnitChangesItselfIsForgotten(t *testing.T) {
	o := &owner{cents: 100}
	c := NewCatalog(o, true)
	expect(t, c, 1, 100, o, 1)
	if _, err := c.Reprice(t.Context(), &shoppb.RepriceRequest{ProductId: 1, PriceCents: 200}); err != nil {
		t.Fatal(err)
	}
	expect(t, c, 1, 200, o, 2)
	o.err = rpc.Problemf(shop.UnknownProduct, "there is no product 3")
	for range 2 {
		if _, err := c.GetProduct(t.Context(), &shoppb.GetProductRequest{ProductId: 3}); err == nil {
			t.Error("an unknown product was found")
		}
	}
	if o.asked != 4 {
		t.Errorf("asked %d times, want 4", o.asked)
	}
}

func TestStockIsKeptByProduct(t *testing.T) {
	o := &owner{}
	v := NewStockViews(o)
	for _, id := range []int64{1, 2, 1, 2} {
		stock, err := v.GetStock(t.Context(), &shoppb.GetStockRequest{ProductId: id})
		if err != nil || stock.GetProductId() != id {
			t.Errorf("%v (%v), want that of product %d", stock, err, id)
		}
	}
	if o.asked != 2 {
		t.Errorf("asked %d times, want twice", o.asked)
	}
}
