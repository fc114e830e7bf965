// Package choreographed carries an order through components that have databases of
// their own, without anybody who drives it: a saga in which each component reacts
// to the events of the others and tells its own.
//
//	orders     takes an order                        -> OrderPlaced
//	inventory  OrderPlaced: reserves                 -> StockReserved or StockRefused
//	payments   StockReserved: captures               -> PaymentCaptured or PaymentDeclined
//	shipping   PaymentCaptured: ships                -> OrderShipped
//	orders     OrderShipped: confirms                -> OrderConfirmed
//	           StockRefused, PaymentDeclined: rejects -> OrderRejected
//	           a customer cancels                    -> OrderCancelled
//	inventory  PaymentDeclined: releases; OrderConfirmed: commits; OrderCancelled: restocks
//	payments   OrderCancelled: refunds
//	shipping   OrderCancelled: recalls
//
// Each reaction is one local transaction: the component's step, what it tells (the
// outbox) and that it was told (the inbox). Events may come late, twice and in any
// order: a step that an order has gone past is refused by the component and left
// out here. A refusal is made final in the component that refused, so that the same
// event, come again, is not answered otherwise. With dual writes in the place of the
// outbox, what it tells is not in the transaction and may be lost.
//
// Nobody is asked on the way: what the orders know of catalog and customers they look up
// before they take an order, and an event carries what the next one needs.
//
// Entry points: New for the coordinator; Inventory, Payments, Shipping and Orders
// for the reactions.
package choreographed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Sender puts events on their way as part of the transaction that the context carries:
// an outbox, or dual writes.
type Sender interface {
	Add(ctx context.Context, messages ...broker.Message) error
}

// tell sends events; nil ones are none.
func tell(ctx context.Context, sender Sender, all ...events.Event) error {
	messages := make([]broker.Message, 0, len(all))
	now := time.Now()
	for _, e := range all {
		if e == nil {
			continue
		}
		m, err := events.Encode(e, now)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	return sender.Add(ctx, messages...)
}

// decode reads all messages.
func decode(messages []broker.Message) ([]events.Event, error) {
	all := make([]events.Event, len(messages))
	for i, m := range messages {
		var err error
		if all[i], err = events.Decode(m); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reaction is what a component does about events of one type, and what is told then;
// nil events are none.
type reaction struct {
	takes func(e events.Event) bool
	to    func(ctx context.Context, s scope, group []events.Event) (told []events.Event, err error)
}

// about makes a reaction to events of type E.
func about[E events.Event](
	to func(ctx context.Context, s scope, group []E) ([]events.Event, error),
) reaction {
	return reaction{
		takes: func(e events.Event) bool {
			_, is := e.(E)
			return is
		},
		to: func(ctx context.Context, s scope, group []events.Event) ([]events.Event, error) {
			typed := make([]E, len(group))
			for i, e := range group {
				typed[i] = e.(E) // takes says so
			}
			return to(ctx, s, typed)
		},
	}
}

// single makes a reaction to events of type E one by one: it is for what is rare.
func single[E events.Event](to func(ctx context.Context, s scope, e E) (events.Event, error)) reaction {
	return about(func(ctx context.Context, s scope, group []E) ([]events.Event, error) {
		told := make([]events.Event, len(group))
		for i, e := range group {
			var err error
			if told[i], err = to(ctx, s, e); err != nil {
				return nil, err
			}
		}
		return told, nil
	})
}

// step is a reaction to events of type E that takes one step for all of them.
type step[E events.OfOrder, Q any] struct {
	take steps.Step[Q]
	asks func(e E) Q
	// done is what is told where the step was taken, now or before; nil: nothing. Where
	// the order has gone past it, nothing is told either.
	done func(e E) events.Event
	// refused is what is told where the rules of the shop refuse it. forbid then makes
	// that final: the same event, come again, is not answered otherwise.
	refused func(e E, why *shoppb.Rejection) events.Event
	forbid  steps.Step[*shoppb.StepRequest]
}

func (r step[E, Q]) reaction() reaction {
	return about(func(ctx context.Context, s scope, group []E) (told []events.Event, err error) {
		asked := make([]Q, len(group))
		for i, e := range group {
			asked[i] = r.asks(e)
		}
		outcomes, err := s.ask(ctx, len(group), func(ctx context.Context) ([]steps.Outcome,
			error) {
			return r.take(ctx, asked)
		})
		if err != nil {
			return nil, err
		}
		var forbidden []*shoppb.StepRequest
		for i, e := range group {
			why, refused := shop.Rejects(outcomes[i].Err)
			switch {
			case refused && r.refused == nil:
				return nil, rpc.Problemf(rpc.Internal, "a step that cannot be refused was: %s: %s", why.GetKind(),
					why.GetDetail())
			case refused:
				told = append(told, r.refused(e, why))
				forbidden = append(forbidden, coordination.Step(e.GetOrder()))
			case outcomes[i].Err == nil && r.done != nil:
				told = append(told, r.done(e))
			}
		}
		if len(forbidden) == 0 {
			return told, nil
		}
		outcomes, err = r.forbid(ctx, forbidden)
		for _, came := range outcomes {
			err = errors.Join(err, came.Err)
		}
		return told, err
	})
}

// reactions are all that a component does about events.
type reactions struct {
	db     *database.DB
	all    []reaction
	lately caution
}

// to reacts to the events of one transaction, type after type: those of one that wait
// beside others may be older, which no step minds.
func (r *reactions) to(ctx context.Context, left []events.Event) (told []events.Event, err error) {
	s := scope{db: r.db, caution: &r.lately, careful: r.lately.spend()}
	for _, reaction := range r.all {
		var group, others []events.Event
		for _, e := range left {
			if reaction.takes(e) {
				group = append(group, e)
			} else {
				others = append(others, e)
			}
		}
		left = others
		if len(group) == 0 {
			continue
		}
		next, err := reaction.to(ctx, s, group)
		if err != nil {
			return nil, err
		}
		told = append(told, next...)
	}
	if len(left) > 0 { // the topology is wrong
		return nil, rpc.Problemf(rpc.Internal, "event %s is not for this component",
			left[0].GetHappening().GetEventId())
	}
	return told, nil
}

// caution says how steps of single orders are taken. One that is refused undoes its
// transaction, so it needs a savepoint, that it can be undone without those of other
// messages: two more round trips to the database. They are spent only when a step was
// refused lately; the first refusal costs a second attempt of its transaction.
type caution struct{ left atomic.Int64 }

// cautious is how many transactions are careful after a refusal.
const cautious = 64

// spend reports whether the next transaction is to be careful.
func (c *caution) spend() bool { return c.left.Load() > 0 && c.left.Add(-1) >= 0 }

// scope is the transaction in which components take their steps.
type scope struct {
	db      *database.DB
	caution *caution
	careful bool // a step that is refused can be undone alone
}

// ask takes a step for so many orders. Its outcomes are refusals by the rules of the
// shop, or say that the order has gone past the step (Conflict); other errors are its own.
func (s scope) ask(
	ctx context.Context, orders int, step func(ctx context.Context) ([]steps.Outcome, error),
) (outcomes []steps.Outcome, err error) {
	if orders > 1 || !s.careful {
		outcomes, err = step(ctx)
	} else {
		refused := errors.New("undone")
		err = s.db.Try(ctx, func(ctx context.Context) error {
			if outcomes, err = step(ctx); err == nil && outcomes[0].Err != nil {
				return refused
			}
			return err
		})
		if errors.Is(err, refused) {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, came := range outcomes {
		if _, refused := shop.Rejects(came.Err); came.Err != nil && !refused &&
			!shop.IsKind(came.Err, shop.Conflict) {
			return nil, came.Err
		}
	}
	if orders == 1 && outcomes[0].Err != nil {
		s.caution.left.Store(cautious)
		if !s.careful {
			return nil, fmt.Errorf("%w: %w", event.ErrAgain, outcomes[0].Err)
		}
	}
	return outcomes, nil
}

// take takes steps for an order that no rule of the shop refuses, and reports whether
// it did: not where the order has gone past them.
func (s scope) take(
	ctx context.Context, order *shoppb.Order, all ...func(context.Context,
		*shoppb.StepRequest) (*shoppb.StepResponse, error),
) (bool, error) {
	outcomes, err := s.ask(ctx, 1, func(ctx context.Context) ([]steps.Outcome, error) {
		for _, step := range all {
			if _, err := step(ctx, coordination.Step(order)); err != nil {
				return []steps.Outcome{{Err: err}}, nil
			}
		}
		return []steps.Outcome{{}}, nil
	})
	if err != nil {
		return false, err
	}
	if why, refused := shop.Rejects(outcomes[0].Err); refused {
		return false, rpc.Problemf(rpc.Internal, "a step that cannot be refused was: %s: %s", why.GetKind(),
			why.GetDetail())
	}
	return outcomes[0].Err == nil, nil
}
