package stockviews

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/readmodel"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Collection returns the documents of products, by the product's id.
func Collection() document.Collection { return document.Collection{Name: "stock_views"} }

// Body is the stock of a product as a document.
type Body struct {
	OnHand   int64 `json:"onHand"`
	Reserved int64 `json:"reserved"`
	Sold     int64 `json:"sold"`
	readmodel.Times
}

// Documents implements shop.StockViews on documents that events keep up to date.
type Documents struct {
	readmodel.Model // its Apply takes the events about the stock
}

var _ shop.StockViews = Documents{}

// FromDocuments makes views of a store that knows the Collection. For shown see readmodel.New.
func FromDocuments(store document.Store, shown readmodel.Shown) Documents {
	return Documents{readmodel.New(store, Collection().Name, write, shown)}
}

// write makes a document of an event.
func write(e events.Event, now time.Time) (document.Document, error) {
	changed, ok := e.(*shoppb.StockChanged)
	if !ok {
		return document.Document{}, fmt.Errorf("event %s is not about the stock", e.GetHappening().GetEventId())
	}
	s := changed.GetStock()
	body, err := json.Marshal(Body{s.GetOnHand(), s.GetReserved(), s.GetSold(), readmodel.TimesOf(e, now)})
	if err != nil {
		return document.Document{}, fmt.Errorf("write stock of product %d: %w", s.GetProductId(), err)
	}
	return document.Document{ID: id(s.GetProductId()), Version: changed.GetVersion(), Body: body}, nil
}

func id(product int64) string { return strconv.FormatInt(product, 10) }

// GetStock implements shop.StockViews.
func (v Documents) GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	d, found, err := v.Get(ctx, id(in.GetProductId()))
	if err == nil && !found {
		err = shop.NoProduct(in.GetProductId())
	}
	if err != nil {
		return nil, err
	}
	var body Body
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return nil, fmt.Errorf("read stock of product %s: %w", d.ID, err)
	}
	return &shoppb.Stock{ProductId: in.GetProductId(), OnHand: body.OnHand, Reserved: body.Reserved,
		Sold: body.Sold}, nil
}

// Fill writes the stock of a fresh shop, which has no events.
func Fill(ctx context.Context, store document.Store, seed shop.Seed) error {
	body, err := json.Marshal(Body{OnHand: seed.Stock})
	if err != nil {
		return fmt.Errorf("fill the stock views: %w", err)
	}
	for first := int64(1); first <= seed.Products; first += document.MaxPage {
		var documents []document.Document
		for product := first; product <= min(first+document.MaxPage-1, seed.Products); product++ {
			documents = append(documents, document.Document{ID: id(product), Body: body})
		}
		if _, err := store.Upsert(ctx, Collection().Name, documents...); err != nil {
			return fmt.Errorf("fill the stock views: %w", err)
		}
	}
	return nil
}
