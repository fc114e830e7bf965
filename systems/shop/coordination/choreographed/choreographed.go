// Package choreographed carries an order through components that have databases of
// their own, without anybody who drives it: a saga in which each component reacts
// to the events of the others and tells its own.
//
//	orders     takes an order                        -> OrderPlaced
//	inventory  OrderPlaced: reserves                 -> StockReserved or StockRefused
//	payments   StockReserved: authorises, captures   -> PaymentCaptured or PaymentDeclined
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
// event, come again, is not answered otherwise.
//
// Nobody is asked on the way: the orders price by a replica of catalog and
// customers in their own database, and an event carries what the next one needs.
//
// Entry points: New for the coordinator; Inventory, Payments, Shipping and Orders
// for the reactions.
package choreographed

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Outbox is where events are left, in the transaction that the context carries.
type Outbox interface {
	Add(ctx context.Context, messages ...broker.Message) error
}

// tell leaves events in the outbox; nil ones are none.
func tell(ctx context.Context, outbox Outbox, all ...events.Event) error {
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
	return outbox.Add(ctx, messages...)
}

// reaction is what a component does about one event, and what it tells then; nil
// for nothing.
type reaction func(ctx context.Context, s scope, e events.Event) (events.Event, error)

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

// reactions are all that a component does about events.
type reactions struct {
	db     *database.DB
	many   []groupReaction // these first
	one    reaction        // for what is left, in the order in which it came
	lately caution
	// apart says that the next transaction takes all events one by one: the last had
	// some that are not plain.
	apart atomic.Bool
}

// to reacts to the events of one transaction.
func (r *reactions) to(ctx context.Context, left []events.Event) ([]events.Event, error) {
	s := scope{db: r.db, caution: &r.lately, careful: r.lately.spend()}
	told := make([]events.Event, 0, len(left))
	if !r.apart.Swap(false) {
		var err error
		if told, left, err = r.together(ctx, left, told); err != nil {
			return nil, err
		}
	}
	for _, e := range left {
		next, err := r.one(ctx, s, e)
		if err != nil {
			return nil, err
		}
		told = append(told, next)
	}
	return told, nil
}

// together takes the events of which there are many, and returns what is told and
// what is left. Where one of them is not plain it asks for another attempt, one by
// one.
func (r *reactions) together(ctx context.Context, all, told []events.Event) (tells, left []events.Event, err error) {
	for _, reaction := range r.many {
		var group, others []events.Event
		for _, e := range all {
			if reaction.takes(e) {
				group = append(group, e)
			} else {
				others = append(others, e)
			}
		}
		if len(group) < 2 {
			continue
		}
		next, plain, err := reaction.to(ctx, group)
		if err != nil {
			return nil, nil, err
		}
		if !plain {
			r.apart.Store(true)
			r.lately.left.Store(max(1, r.lately.left.Load())) // and carefully
			return nil, nil, fmt.Errorf("%w: one of %d events is not plain", event.ErrAgain, len(group))
		}
		told, all = append(told, next...), others
	}
	return told, all, nil
}

// groupReaction is a reaction to many events of one type with a few statements for all.
// It is for the plain case, that the step is the next one of every order, and
// reports whether that was so; where not, a part may be done.
// Events of other types that wait beside these may be older: no step minds.
type groupReaction struct {
	takes func(e events.Event) bool
	to    func(ctx context.Context, group []events.Event) (told []events.Event, plain bool, err error)
}

// every makes a reaction to many events of type E.
func every[E events.Event](to func(ctx context.Context, group []E) (told []events.Event, plain bool, err error)) groupReaction {
	return groupReaction{
		takes: func(e events.Event) bool {
			_, is := e.(E)
			return is
		},
		to: func(ctx context.Context, group []events.Event) ([]events.Event, bool, error) {
			typed := make([]E, len(group))
			for i, e := range group {
				typed[i] = e.(E) // takes says so
			}
			return to(ctx, typed)
		},
	}
}

// caution says how steps are taken. A step that may be refused needs a savepoint, so
// that it can be undone without those of other messages: two more round trips to
// the database. They are spent only when a step was refused lately; the first
// refusal costs a second attempt of its transaction.
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

// ask takes a step. It reports whether the step was taken; not where the order has
// gone past it (Conflict), and not where the rules of the shop refuse it: then it
// returns why.
func (s scope) ask(ctx context.Context, step func(ctx context.Context) error) (bool, *shoppb.Rejection, error) {
	var err error
	if s.careful {
		err = s.db.Try(ctx, step)
	} else {
		err = step(ctx)
	}
	why, refused := shop.Rejects(err)
	if !refused && !shop.IsKind(err, shop.Conflict) {
		return err == nil, nil, err
	}
	s.caution.left.Store(cautious)
	if !s.careful {
		return false, nil, fmt.Errorf("%w: %w", event.ErrAgain, err)
	}
	return false, why, nil
}

// take takes a step that no rule of the shop refuses.
func (s scope) take(ctx context.Context, step func(ctx context.Context) error) (bool, error) {
	taken, why, err := s.ask(ctx, step)
	if why != nil {
		return false, shop.Problemf(shop.Internal, "a step that cannot be refused was: %s: %s", why.GetKind(), why.GetDetail())
	}
	return taken, err
}
