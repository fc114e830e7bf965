// Package stockviews is the read side of the inventory. FromTables answers from
// the tables of the write side: it never lags behind, and it must be on their
// database. FromDocuments answers from documents of its own that events keep up to
// date.
package stockviews

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Direct implements shop.StockViews on the inventory's tables.
type Direct struct{ tables inventory.Tables }

var _ shop.StockViews = Direct{}

// FromTables makes views of the tables themselves.
func FromTables(tables inventory.Tables) Direct { return Direct{tables} }

// GetStock implements shop.StockViews.
func (v Direct) GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	rows, err := v.tables.Stock(ctx, []int64{in.GetProductId()})
	if err != nil {
		return nil, fmt.Errorf("get stock of product %d: %w", in.GetProductId(), err)
	}
	if len(rows) == 0 {
		return nil, shop.NoProduct(in.GetProductId())
	}
	return &shoppb.Stock{ProductId: in.GetProductId(), OnHand: rows[0].OnHand, Reserved: rows[0].Reserved,
		Sold: rows[0].Sold}, nil
}
