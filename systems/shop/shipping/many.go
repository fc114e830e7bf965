package shipping

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// manyShipments is how many shipments one statement writes.
const manyShipments = 64

// ShipAll is Ship for many orders at once, in the transaction that the context
// carries. It is for the plain case, in which none has come before, and reports
// whether that was so. Where it was not, a part may be done: the caller undoes the
// transaction and ships order by order.
func (c *Shipping) ShipAll(ctx context.Context, all []*shoppb.ShipRequest) (bool, error) {
	rows := make([]any, 0, shipmentColumns*len(all))
	shipped := steps.Entry(StateShipped)
	for _, in := range all {
		if shop.CheckOrderID(in.GetOrderId()) != nil {
			return false, nil
		}
		rows = append(rows, in.GetOrderId(), in.GetRecipient(), in.GetAddress(), StateShipped, shipped)
	}
	for part := range slices.Chunk(rows, shipmentColumns*manyShipments) {
		shipments := len(part) / shipmentColumns
		added, err := c.db.Exec(ctx, c.record[shipments], part...)
		if err != nil {
			return false, fmt.Errorf("ship %d orders: %w", len(all), err)
		}
		if added != int64(shipments) {
			return false, nil
		}
	}
	return true, nil
}
