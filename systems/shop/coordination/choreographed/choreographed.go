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
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
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
func react(ctx context.Context, db *database.DB, messages []broker.Message, to reaction) ([]events.Event, error) {
	s := scope{db: db, alone: len(messages) == 1}
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

// scope is the transaction in which components take their steps.
type scope struct {
	db    *database.DB
	alone bool // there is one message in it
}

// take takes a step that nothing but an order which has gone past it refuses
// (Conflict), and reports whether it was taken. That is rare: among other messages
// it fails all of them, and they come again, each alone, where it can be undone
// alone.
func (s scope) take(ctx context.Context, step func(ctx context.Context) error) (bool, error) {
	if !s.alone {
		err := step(ctx)
		return err == nil, err
	}
	err := s.db.Try(ctx, step)
	if shop.IsKind(err, shop.Conflict) {
		return false, nil
	}
	return err == nil, err
}

// ask takes a step that the rules of the shop may refuse; then it returns why. It
// reports whether the step was taken: not where the order has gone past it.
func (s scope) ask(ctx context.Context, step func(ctx context.Context) error) (bool, *shoppb.Rejection, error) {
	err := s.db.Try(ctx, step)
	if why, refused := shop.Rejects(err); refused {
		return false, why, nil
	}
	if shop.IsKind(err, shop.Conflict) {
		return false, nil, nil
	}
	return err == nil, nil, err
}
