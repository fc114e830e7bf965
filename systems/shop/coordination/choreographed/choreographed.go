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

// react does it for messages in turn.
func (c *caution) react(ctx context.Context, db *database.DB, messages []broker.Message, to reaction) ([]events.Event, error) {
	s := scope{db: db, caution: c, careful: c.spend()}
	told := make([]events.Event, 0, len(messages))
	for _, m := range messages {
		e, err := events.Decode(m)
		if err != nil {
			return nil, err
		}
		next, err := to(ctx, s, e)
		if err != nil {
			return nil, err
		}
		told = append(told, next)
	}
	return told, nil
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
