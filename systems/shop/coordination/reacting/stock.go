package reacting

import (
	"context"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Stock is the inventory with its stock levels.
type Stock interface {
	coordination.Inventory
	Levels(ctx context.Context, products []int64) ([]inventory.Level, error)
}

// Levels returns the function that Handle calls after reactions if there are read models: it returns an event
// with the new stock of each product of the orders, once per transaction. Without views it is nil.
func Levels(component Stock, views bool) func(context.Context, []events.Event) ([]events.Event, error) {
	if !views {
		return nil
	}
	return func(ctx context.Context, handled []events.Event) (published []events.Event, err error) {
		products := map[int64]bool{}
		for _, e := range handled {
			if about, ok := e.(events.OfOrder); ok {
				for _, line := range about.GetOrder().GetLines() {
					products[line.GetProductId()] = true
				}
			}
		}
		found, err := component.Levels(ctx, slices.Sorted(maps.Keys(products)))
		for _, level := range found {
			published = append(published, &shoppb.StockChanged{Stock: level.Stock, Version: level.Version})
		}
		return published, err
	}
}
