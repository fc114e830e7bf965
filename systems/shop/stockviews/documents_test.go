package stockviews_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

func fresh(t *testing.T, seed shop.Seed) stockviews.Documents {
	t.Helper()
	store := shoptest.Documents(t)
	testset.Must(t, store.Declare(t.Context(), stockviews.Collection()))
	testset.Must(t, stockviews.Fill(t.Context(), store, seed))
	testset.Must(t, stockviews.Fill(t.Context(), store, seed)) // again, as another unit would
	return stockviews.FromDocuments(store, nil)
}

func read(t *testing.T, views stockviews.Documents, product int64) string {
	t.Helper()
	s, err := views.GetStock(t.Context(), &shoppb.GetStockRequest{ProductId: product})
	testset.Must(t, err)
	return fmt.Sprint(s.GetProductId(), s.GetOnHand(), s.GetReserved(), s.GetSold())
}

// TestNewestVersionStays applies the changes of two products in random order and twice: the newest version
// stays.
func TestNewestVersionStays(t *testing.T) {
	views := fresh(t, shop.Seed{Customers: 1, Products: 1500, Stock: 40})
	var changes []broker.Message
	for version := int64(1); version <= 20; version++ {
		for product := int64(1); product <= 2; product++ {
			m, err := events.Encode(&shoppb.StockChanged{Stock: &shoppb.Stock{ProductId: product, OnHand: 40 - version,
				Sold: version}, Version: version}, time.Now())
			testset.Must(t, err)
			changes = append(changes, m, m)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	for len(changes) > 0 {
		n := 1 + random.IntN(min(len(changes), 7))
		testset.Must(t, views.Apply(t.Context(), changes[:n]))
		changes = changes[n:]
	}
	for product, want := range map[int64]string{1: "1 20 0 20", 2: "2 20 0 20", 3: "3 40 0 0",
		1500: "1500 40 0 0"} {
		if got := read(t, views, product); got != want {
			t.Errorf("stock %s, want %s", got, want)
		}
	}
	if _, err := views.GetStock(t.Context(), &shoppb.GetStockRequest{ProductId: 1501}); !shop.IsKind(err,
		shop.UnknownProduct) {
		t.Errorf("a product that is not there: %v", err)
	}
}

func TestOtherEventsAreRefused(t *testing.T) {
	views := fresh(t, shop.Seed{Customers: 1, Products: 1, Stock: 1})
	order := &shoppb.Order{OrderId: "o", Lines: []*shoppb.OrderLine{{ProductId: 1, Quantity: 1}}}
	m, err := events.Encode(&shoppb.OrderPlaced{Order: order}, time.Now())
	testset.Must(t, err)
	if err := views.Apply(t.Context(), []broker.Message{m}); err == nil {
		t.Error("an event about an order was applied")
	}
}
