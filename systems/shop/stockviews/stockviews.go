// Package stockviews is the read side of the inventory. FromTables answers from
// the tables of the write side: it never lags behind, and it must be on their
// database. FromDocuments answers from documents of its own that events keep up to
// date.
package stockviews

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Direct implements shop.StockViews on the inventory's table.
type Direct struct{ db *database.DB }

var _ shop.StockViews = Direct{}

// FromTables makes views of the tables themselves.
func FromTables(db *database.DB) Direct { return Direct{db} }

// GetStock implements shop.StockViews.
func (v Direct) GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	stock := &shoppb.Stock{ProductId: in.GetProductId()}
	found, err := v.db.One(ctx, []any{&stock.OnHand, &stock.Reserved, &stock.Sold},
		"SELECT on_hand, reserved, sold FROM stock WHERE product_id = ?", in.GetProductId())
	if err != nil {
		return nil, fmt.Errorf("get stock of product %d: %w", in.GetProductId(), err)
	}
	if !found {
		return nil, rpc.Problemf(shop.UnknownProduct, "there is no product %d", in.GetProductId())
	}
	return stock, nil
}
