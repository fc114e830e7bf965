package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/backing/document"
)

// Views are the read models: what clients are shown instead of the tables.
type Views struct {
	Orders map[string]OrderView // by id
	Stock  map[int64]StockView  // by product
}

// OrderView is what the read model says of an order.
type OrderView struct {
	Customer   string     `json:"customer"`
	Key        string     `json:"idempotencyKey"`
	TotalCents int64      `json:"totalCents"`
	State      string     `json:"state"`
	Lines      []LineView `json:"lines"`
	Version    int64      `json:"-"`
}

// LineView is a line of an order in the read model.
type LineView struct {
	Product    int64 `json:"productId"`
	Quantity   int64 `json:"quantity"`
	PriceCents int64 `json:"unitPriceCents"`
}

// StockView is what the read model says of a product's stock.
type StockView struct {
	OnHand   int64 `json:"onHand"`
	Reserved int64 `json:"reserved"`
	Sold     int64 `json:"sold"`
}

// ReadViews reads the documents of both read models, as they are named.
func ReadViews(ctx context.Context, store document.Store, orders, stock document.Collection) (*Views, error) {
	views := &Views{Orders: map[string]OrderView{}, Stock: map[int64]StockView{}}
	if err := store.Declare(ctx, orders, stock); err != nil {
		return nil, fmt.Errorf("audit the read models: %w", err)
	}
	err := eachDocument(ctx, store, orders.Name, func(d document.Document) error {
		view := OrderView{Version: d.Version}
		err := json.Unmarshal(d.Body, &view)
		views.Orders[d.ID] = view
		return err
	})
	if err != nil {
		return nil, err
	}
	return views, eachDocument(ctx, store, stock.Name, func(d document.Document) error {
		product, err := strconv.ParseInt(d.ID, 10, 64)
		if err != nil {
			return err
		}
		var view StockView
		err = json.Unmarshal(d.Body, &view)
		views.Stock[product] = view
		return err
	})
}

// eachDocument reads a collection page by page.
func eachDocument(ctx context.Context, store document.Store, collection string, read func(document.Document) error) error {
	query := document.Query{Limit: document.MaxPage}
	for {
		page, err := store.Find(ctx, collection, query)
		if err != nil {
			return fmt.Errorf("audit the documents of %s: %w", collection, err)
		}
		for _, d := range page {
			if err := read(d); err != nil {
				return fmt.Errorf("audit document %s of %s: %w", d.ID, collection, err)
			}
			query.After = d.ID
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}

// checkViews compares the read models with the write side, row by row: rule 9.
// Where nobody waited for the end, they may still be behind.
func (j *judge) checkViews() {
	if j.Views == nil || !j.Drained {
		return
	}
	j.counts["order_views"], j.counts["stock_views"] = int64(len(j.Views.Orders)), int64(len(j.Views.Stock))
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		want := j.wantedView(j.State.Orders[id])
		got, shown := j.Views.Orders[id]
		switch {
		case !shown:
			j.breach(9, "order %s is not in the read model", id)
		case !got.is(want):
			j.breach(9, "the read model says of order %s %+v, the orders %+v", id, got, want)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.Views.Orders)) {
		if j.State.Orders[id] == nil {
			j.breach(9, "the read model has order %s, which is not on record", id)
		}
	}
	j.checkStockViews()
}

func (j *judge) checkStockViews() {
	for _, stock := range j.State.Stock {
		want := StockView{OnHand: stock.OnHand, Reserved: stock.Reserved, Sold: stock.Sold}
		if got, shown := j.Views.Stock[stock.Product]; !shown || got != want {
			j.breach(9, "the read model says of product %d %+v, the stock %+v", stock.Product, got, want)
		}
	}
	if shown := len(j.Views.Stock); shown > len(j.State.Stock) {
		j.breach(9, "the read model has %d products, the stock %d", shown, len(j.State.Stock))
	}
}

// wantedView is what the read model must say of an order.
func (j *judge) wantedView(order *Order) OrderView {
	view := OrderView{
		Customer: strconv.FormatInt(order.Customer, 10), Key: order.Key, TotalCents: order.TotalCents,
		State: string(order.State), Version: order.Version,
	}
	for _, line := range j.State.Lines[order.ID] {
		view.Lines = append(view.Lines, LineView{Product: line.Product, Quantity: line.Quantity, PriceCents: line.PriceCents})
	}
	return view
}

// is reports whether two views say the same; lines may come in any order.
func (v OrderView) is(other OrderView) bool {
	same := v.Customer == other.Customer && v.Key == other.Key && v.TotalCents == other.TotalCents &&
		v.State == other.State && v.Version == other.Version
	return same && slices.Equal(sortedLines(v.Lines), sortedLines(other.Lines))
}

func sortedLines(lines []LineView) []LineView {
	return slices.SortedFunc(slices.Values(lines), func(a, b LineView) int { return int(a.Product - b.Product) })
}
