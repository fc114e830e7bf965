package assembly_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/cached"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// read reads the pages of all created orders and records the price of the first product.
func (c *customers) read(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	made := map[string]int64{}
	for _, a := range c.history {
		if a.Operation == audit.OperationCreate && a.Outcome == audit.OutcomeOK {
			made[a.Order] = a.Asked.Lines[0].Product
		}
	}
	c.mu.Unlock()
	for order, product := range made {
		sent := time.Now()
		var page api.OrderPage
		c.get(t, "/orders/"+order+"/page", &page)
		if len(page.Products) == 0 {
			t.Fatalf("the page of order %s has no products: %+v", order, page)
		}
		c.remember(http.StatusOK, audit.Attempt{Operation: audit.OperationRead,
			Price: &audit.Price{Product: product, Cents: page.Products[0].PriceCents}}, sent, page.Order)
	}
}

// broken is a cache without expiry, with a key that may be wrong.
type broken struct {
	shop.Catalog
	key  func(product int64) int64
	kept *sync.Map
}

func (b broken) GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	if found, is := b.kept.Load(b.key(in.GetProductId())); is {
		return found.(*shoppb.Product), nil
	}
	product, err := b.Catalog.GetProduct(ctx, in)
	if err == nil {
		b.kept.Store(b.key(in.GetProductId()), product)
	}
	return product, err
}

// TestPagesAreNoOlderThanTheirSource reads pages while prices change, from caches that keep their promise
// and from caches that do not.
func TestPagesAreNoOlderThanTheirSource(t *testing.T) {
	testset.Need(t, "it plays four shops until what caches keep is too old")
	breaks := func(key func(int64) int64) func(shop.Catalog) shop.Catalog {
		return func(c shop.Catalog) shop.Catalog { return broken{c, key, new(sync.Map)} }
	}
	for name, c := range map[string]struct {
		views architecture.Views
		wrap  func(shop.Catalog) shop.Catalog // nil: it is valid
	}{
		"composed":                    {architecture.FromTables, nil},
		"cached":                      {architecture.FromCache, nil},
		"a cache that never expires":  {architecture.FromCache, breaks(func(id int64) int64 { return id })},
		"a cache that mixes products": {architecture.FromCache, breaks(func(int64) int64 { return 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			design := designOf(t, architecture.Sync, knobs("views", string(c.views)))
			running, public := start(t, design, eventParts{wrapCatalog: c.wrap})
			clients := newCustomers(public)
			clients.order(t, 8)
			clients.read(t)
			clients.reprice(t, 20)
			clients.read(t)
			time.Sleep(cached.TimeToLive) // now nothing from before may be shown
			clients.read(t)
			in := running.recorded(t, running.database(t, design.DatabaseOf), clients)
			if c.views == architecture.FromCache {
				in.Reads = &audit.Reads{Lag: cached.TimeToLive}
			}
			got := audit.Judge(in)
			if valid := got.Verdict == lab.AuditValid; valid != (c.wrap == nil) ||
				valid != (got.Counts["broken_i12"] == 0) || got.Counts["prices_read"] < 15 {
				t.Errorf("%s: %v, %v", got.Verdict, got.Problems, got.Counts)
			}
		})
	}
}

// TestReadModelsShowTheCopy: if the catalog's events are lost, pages keep the old price.
func TestReadModelsShowTheCopy(t *testing.T) {
	testset.Need(t, "it plays a shop of events")
	t.Parallel()
	_, public := start(t, designOf(t, architecture.Async, nil), eventParts{wrap: losesPrices})
	clients := newCustomers(public)
	clients.reprice(t, 1)
	changed := clients.history[0].Price.Product
	want := suiteSeed().Product(changed).PriceCents
	if got := clients.price(t, changed); got != want {
		t.Errorf("product %d costs %d, want %d as the copy has it", changed, got, want)
	}
}
