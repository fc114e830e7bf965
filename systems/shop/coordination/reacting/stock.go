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

// Stock is the inventory, and what there is in it.
type Stock interface {
	coordination.Inventory
	Levels(ctx context.Context, products []int64) ([]inventory.Level, error)
}

// Levels returns what Handle also tells where there are read models: what there is of each product
// that a transaction has changed, once. Without views it is nil.
func Levels(component Stock, views bool) func(context.Context, []events.Event) ([]events.Event, error) {
	if !views {
		return nil
	}
	return func(ctx context.Context, came []events.Event) ([]events.Event, error) {
		return levels(ctx, component, came)
	}
}

// levels tells what there is of the products of the orders that events are about.
func levels(ctx context.Context, component Stock, came []events.Event) (told []events.Event, err error) {
	products := map[int64]bool{}
	for _, e := range came {
		if about, ok := e.(events.OfOrder); ok {
			for _, line := range about.GetOrder().GetLines() {
				products[line.GetProductId()] = true
			}
		}
	}
	found, err := component.Levels(ctx, slices.Sorted(maps.Keys(products)))
	for _, level := range found {
		told = append(told, &shoppb.StockChanged{Stock: level.Stock, Version: level.Version})
	}
	return told, err
}
