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

// Views are the read models, which clients read instead of the tables.
type Views struct {
	Orders map[string]OrderView // by id
	Stock  map[int64]StockView  // by product
}

// OrderView is an order in the read model.
type OrderView struct {
	Customer   string     `json:"customer"`
	Key        string     `json:"idempotencyKey"`
	TotalCents int64      `json:"totalCents"`
	State      string     `json:"state"`
	Lines      []LineView `json:"lines"`
	Rejection  Rejection  `json:"rejection"`
	CreatedUS  int64      `json:"createdUnixUs"`
	Version    int64      `json:"-"`
}

// LineView is a line of an order in the read model.
type LineView struct {
	Product    int64  `json:"productId"`
	Name       string `json:"name"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"unitPriceCents"`
}

// StockView is a product's stock in the read model.
type StockView struct {
	OnHand   int64 `json:"onHand"`
	Reserved int64 `json:"reserved"`
	Sold     int64 `json:"sold"`
	Version  int64 `json:"-"`
}

// ReadViews reads the documents of both read models, by their collections.
func ReadViews(ctx context.Context, store document.Store, orders, stock document.Collection) (*Views, error) {
	views := &Views{Orders: map[string]OrderView{}, Stock: map[int64]StockView{}}
	if err := store.Declare(ctx, orders, stock); err != nil {
		return nil, fmt.Errorf("audit the read models: %w", err)
	}
	err := document.Each(ctx, store, orders.Name, func(d document.Document) error {
		view := OrderView{Version: d.Version}
		err := json.Unmarshal(d.Body, &view)
		views.Orders[d.ID] = view
		return err
	})
	if err == nil {
		err = document.Each(ctx, store, stock.Name, func(d document.Document) error {
			product, err := strconv.ParseInt(d.ID, 10, 64)
			if err != nil {
				return err
			}
			view := StockView{Version: d.Version}
			err = json.Unmarshal(d.Body, &view)
			views.Stock[product] = view
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("audit the read models: %w", err)
	}
	return views, nil
}

// checkViews compares the read models with the tables, row by row: rule 9. They may be
// behind if the shop had no time to finish.
func (j *judge) checkViews() {
	if j.Views == nil || !j.Drained {
		return
	}
	j.counts["order_views"], j.counts["stock_views"] = int64(len(j.Views.Orders)), int64(len(j.Views.Stock))
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		want := j.wantedView(j.State.Orders[id])
		got, shown := j.Views.Orders[id]
		if !shown {
			j.breach(9, "order %s is not in the read model", id)
			continue
		}
		for _, field := range got.differences(want) {
			j.breach(9, "the read model says of order %s: %s", id, field)
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
		want := StockView{OnHand: stock.OnHand, Reserved: stock.Reserved, Sold: stock.Sold, Version: stock.Version}
		got, shown := j.Views.Stock[stock.Product]
		if !shown {
			j.breach(9, "product %d is not in the read model", stock.Product)
			continue
		}
		for _, field := range got.differences(want) {
			j.breach(9, "the read model says of product %d: %s", stock.Product, field)
		}
	}
	if shown := len(j.Views.Stock); shown > len(j.State.Stock) {
		j.breach(9, "the read model has %d products, the stock %d", shown, len(j.State.Stock))
	}
}

// wantedView returns the view that an order must have.
func (j *judge) wantedView(order *Order) OrderView {
	view := OrderView{
		Customer: strconv.FormatInt(order.Customer, 10), Key: order.Key, TotalCents: order.TotalCents,
		State: string(order.State), Version: order.Version, Rejection: order.Rejection, CreatedUS: order.CreatedUS,
	}
	for _, line := range j.State.Lines[order.ID] {
		view.Lines = append(view.Lines, LineView{line.Product, line.Name, line.Quantity, line.PriceCents})
	}
	return view
}

// fields are the wrong fields of a view.
type fields []string

func (f *fields) compare(name string, got, want any) {
	if got != want {
		*f = append(*f, fmt.Sprintf("%s is %#v, want %#v", name, got, want))
	}
}

func (v OrderView) differences(want OrderView) (all fields) {
	all.compare("customer", v.Customer, want.Customer)
	all.compare("idempotencyKey", v.Key, want.Key)
	all.compare("totalCents", v.TotalCents, want.TotalCents)
	all.compare("state", v.State, want.State)
	all.compare("rejection.kind", v.Rejection.Kind, want.Rejection.Kind)
	all.compare("rejection.detail", v.Rejection.Detail, want.Rejection.Detail)
	all.compare("createdUnixUs", v.CreatedUS, want.CreatedUS)
	all.compare("version", v.Version, want.Version)
	all.compare("number of lines", len(v.Lines), len(want.Lines))
	for i := range min(len(v.Lines), len(want.Lines)) {
		all.compare("productId", v.Lines[i].Product, want.Lines[i].Product)
		all.compare("name", v.Lines[i].Name, want.Lines[i].Name)
		all.compare("quantity", v.Lines[i].Quantity, want.Lines[i].Quantity)
		all.compare("unitPriceCents", v.Lines[i].PriceCents, want.Lines[i].PriceCents)
	}
	return all
}

func (v StockView) differences(want StockView) (all fields) {
	all.compare("onHand", v.OnHand, want.OnHand)
	all.compare("reserved", v.Reserved, want.Reserved)
	all.compare("sold", v.Sold, want.Sold)
	all.compare("version", v.Version, want.Version)
	return all
}
