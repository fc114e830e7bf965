package choreographed

import (
	"context"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Stock is the inventory, and what there is in it.
type Stock interface {
	shop.Inventory
	Levels(ctx context.Context, products []int64) ([]inventory.Level, error)
}

// Inventory makes the reactions of the inventory, on its database. With views it
// also tells what there is of each product that a transaction has changed, once.
func Inventory(db *database.DB, component Stock, outbox Outbox, views bool) func(ctx context.Context, messages []broker.Message) error {
	all := &reactions{db: db, one: stockReaction{component}.to, many: manyReservations(component)}
	return func(ctx context.Context, messages []broker.Message) error {
		came, err := decode(messages)
		if err != nil {
			return err
		}
		told, err := all.to(ctx, came)
		if err != nil {
			return err
		}
		if views {
			levels, err := component.Levels(ctx, productsIn(came))
			if err != nil {
				return err
			}
			for _, level := range levels {
				told = append(told, &shoppb.StockChanged{Stock: level.Stock, Version: level.Version})
			}
		}
		return tell(ctx, outbox, told...)
	}
}

// productsIn are the products of the orders that events are about.
func productsIn(all []events.Event) []int64 {
	found := map[int64]bool{}
	for _, e := range all {
		if about, ok := e.(events.OfOrder); ok {
			for _, line := range about.GetOrder().GetLines() {
				found[line.GetProductId()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

type stockReaction struct{ component shop.Inventory }

// to reacts to one event.
func (r stockReaction) to(ctx context.Context, s scope, e events.Event) (events.Event, error) {
	switch e := e.(type) {
	case *shoppb.OrderPlaced:
		return r.reserve(ctx, s, e)
	case *shoppb.PaymentDeclined:
		_, err := s.take(ctx, func(ctx context.Context) error { return r.release(ctx, e.GetOrder()) })
		return nil, err
	case *shoppb.OrderConfirmed:
		_, err := s.take(ctx, func(ctx context.Context) error {
			_, err := r.component.Commit(ctx, stepOf(e.GetOrder()))
			return err
		})
		return nil, err
	case *shoppb.OrderCancelled:
		return nil, r.restock(ctx, s, e.GetOrder())
	}
	return nil, unexpected(e)
}

func (r stockReaction) reserve(ctx context.Context, s scope, e *shoppb.OrderPlaced) (events.Event, error) {
	order := e.GetOrder()
	taken, why, err := s.ask(ctx, func(ctx context.Context) error {
		_, err := r.component.Reserve(ctx, reservationOf(order))
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case why != nil: // and so it stays, whatever comes back to the shelf
		return stockRefused(e, why), r.release(ctx, order)
	case !taken:
		return nil, nil
	}
	return reserved(e), nil
}

func (r stockReaction) release(ctx context.Context, order *shoppb.Order) error {
	_, err := r.component.Release(ctx, stepOf(order))
	return err
}

// restock undoes the sale of a cancelled order, also where it is told before the
// confirmation; where it is told before the order, it forbids it.
func (r stockReaction) restock(ctx context.Context, s scope, order *shoppb.Order) error {
	taken, err := s.take(ctx, func(ctx context.Context) error {
		if _, err := r.component.Commit(ctx, stepOf(order)); err != nil {
			return err
		}
		_, err := r.component.Restock(ctx, stepOf(order))
		return err
	})
	if err != nil || taken {
		return err
	}
	_, err = s.take(ctx, func(ctx context.Context) error { return r.release(ctx, order) })
	return err
}

func stepOf(order *shoppb.Order) *shoppb.StepRequest {
	return &shoppb.StepRequest{OrderId: order.GetOrderId()}
}

// unexpected is an event that a component does not take: the topology is wrong.
func unexpected(e events.Event) error {
	return shop.Problemf(shop.Internal, "event %s is not for this component", e.GetHappening().GetEventId())
}
