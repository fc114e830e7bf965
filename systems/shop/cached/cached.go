// Package cached answers reads of products and of stock from a cache in the unit that
// clients ask, and asks the owners for what is not there (cache-aside). It does not keep
// orders and shipments: few customers read the same one, and those need its current state.
//
// An entry is asked for again after TimeToLive, counted from before its owner was asked: so
// an answer may be that old, and no older. If the unit also hosts the catalog, a change of a
// price through this unit drops the product's entry. Otherwise entries only expire, even if
// the unit itself has passed the change on to the catalog. Orders are not priced from the cache.
//
// Entry points: NewCatalog, NewStockViews.
package cached

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

const (
	// TimeToLive bounds how old an answer from a cache is.
	TimeToLive = time.Second
	// capacity is the number of answers that a cache keeps: those that were asked for last.
	capacity = 10_000
)

// Catalog caches the products of a catalog.
type Catalog struct {
	shop.Catalog
	products *cache[*shoppb.Product]
	here     bool
}

// NewCatalog returns a catalog with a cache in front. here: the owner is in this unit.
func NewCatalog(owner shop.Catalog, here bool) Catalog {
	return Catalog{owner, newCache[*shoppb.Product](), here}
}

// GetProduct implements shop.Catalog.
func (c Catalog) GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	return c.products.get(in.GetProductId(), func() (*shoppb.Product, error) {
		return c.Catalog.GetProduct(ctx, in)
	})
}

// Reprice implements shop.Catalog. It drops the entry after an error, too: the price may have changed.
func (c Catalog) Reprice(ctx context.Context, in *shoppb.RepriceRequest) (*shoppb.Price, error) {
	price, err := c.Catalog.Reprice(ctx, in)
	if c.here {
		c.products.kept.Remove(in.GetProductId())
	}
	return price, err
}

// StockViews caches the stock of products.
type StockViews struct {
	shop.StockViews
	stocks *cache[*shoppb.Stock]
}

// NewStockViews puts a cache in front of views of the stock.
func NewStockViews(owner shop.StockViews) StockViews {
	return StockViews{owner, newCache[*shoppb.Stock]()}
}

// GetStock implements shop.StockViews.
func (v StockViews) GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	return v.stocks.get(in.GetProductId(), func() (*shoppb.Stock, error) {
		return v.StockViews.GetStock(ctx, in)
	})
}

// cache keeps answers by the product that they are about.
type cache[M proto.Message] struct{ kept *lru.Cache[int64, entry[M]] }

type entry[M proto.Message] struct {
	answer M
	asked  time.Time // before the owner was asked: the answer was true then or later
}

func newCache[M proto.Message]() *cache[M] {
	kept, err := lru.New[int64, entry[M]](capacity)
	if err != nil {
		panic(err) // the capacity is above zero
	}
	return &cache[M]{kept}
}

// get returns the kept answer, or else asks the owner and keeps its answer. It keeps no
// failures.
func (c *cache[M]) get(product int64, ask func() (M, error)) (M, error) {
	now := time.Now()
	found, ok := c.kept.Get(product)
	if ok && now.Sub(found.asked) < TimeToLive {
		return proto.CloneOf(found.answer), nil // the caller may change it
	}
	answer, err := ask()
	if err == nil {
		c.kept.Add(product, entry[M]{proto.CloneOf(answer), now})
	}
	return answer, err
}
