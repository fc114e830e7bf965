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
	j.counts["order_views"] = int64(len(j.Views.Orders))
	j.counts["stock_views"] = int64(len(j.Views.Stock))
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		want := j.wantedView(j.State.Orders[id])
		got, shown := j.Views.Orders[id]
		if !shown {
			j.breach(9, "order %s is not in the read model", id)
			continue
		}
		j.checkOrderView("the read model says of order "+id, got, want)
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
		whose := fmt.Sprintf("the read model says of product %d", stock.Product)
		j.compare(9, whose, "onHand", got.OnHand, want.OnHand)
		j.compare(9, whose, "reserved", got.Reserved, want.Reserved)
		j.compare(9, whose, "sold", got.Sold, want.Sold)
		j.compare(9, whose, "version", got.Version, want.Version)
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

// checkOrderView compares the fields of a view.
func (j *judge) checkOrderView(whose string, got, want OrderView) {
	j.compare(9, whose, "customer", got.Customer, want.Customer)
	j.compare(9, whose, "idempotencyKey", got.Key, want.Key)
	j.compare(9, whose, "totalCents", got.TotalCents, want.TotalCents)
	j.compare(9, whose, "state", got.State, want.State)
	j.compare(9, whose, "rejection.kind", got.Rejection.Kind, want.Rejection.Kind)
	j.compare(9, whose, "rejection.detail", got.Rejection.Detail, want.Rejection.Detail)
	j.compare(9, whose, "createdUnixUs", got.CreatedUS, want.CreatedUS)
	j.compare(9, whose, "version", got.Version, want.Version)
	j.compare(9, whose, "number of lines", len(got.Lines), len(want.Lines))
	for i := range min(len(got.Lines), len(want.Lines)) {
		j.compare(9, whose, "productId", got.Lines[i].Product, want.Lines[i].Product)
		j.compare(9, whose, "name", got.Lines[i].Name, want.Lines[i].Name)
		j.compare(9, whose, "quantity", got.Lines[i].Quantity, want.Lines[i].Quantity)
		j.compare(9, whose, "unitPriceCents", got.Lines[i].PriceCents, want.Lines[i].PriceCents)
	}
}
