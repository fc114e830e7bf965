// Package steps keeps the state of each order in one component, so that a repeated
// step changes nothing and a step after its compensation is refused; and the states
// that it went through, in journals (journal.go). It knows states by name only; the
// component does the work of a step.
//
// A step is implemented once, for a batch of orders; one order is a batch of one.
// Several orders are read before anything is written, so that the refused ones leave no
// trace among the others. One order alone is not read first: the number of rows that
// its statements change shows whether its state was the expected one. If not, it is
// read then, and its refusal undoes the transaction.
//
// Entry points: Do, One and Alone; Ledger, on Rows; Table and Amounts, which are SQL.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Most is the greatest number of orders in one statement.
const Most = 64

// Outcome is the result of a step for one order: taken, or refused without a trace.
type Outcome struct {
	Repeat bool  // it was taken before
	Err    error // why it is refused
}

// Answer returns the answer to the request of one order.
func (o Outcome) Answer() (*shoppb.StepResponse, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	return &shoppb.StepResponse{Repeat: o.Repeat}, nil
}

// Step takes a step for a batch of orders and returns their outcomes, in their order.
type Step[Q any] func(ctx context.Context, all []Q) ([]Outcome, error)

// Take is a Step for distinct orders, in the transaction that the context carries; DoStatement opens none for
// a batch of one. If readFirst is true, refused orders must leave no trace among the others: all are read
// before anything is written; see the package. It is true if the batch has several requests, even if only one
// order of them is left for Take.
type Take[Q any] func(ctx context.Context, all []Q, readFirst bool) ([]Outcome, error)

// OfOrder is a request for a step.
type OfOrder interface{ GetOrderId() string }

// Do takes a step for a batch of orders in one transaction. In a batch of one, a refusal undoes the
// transaction. Requests that fail the check, if there is one, are refused without take. take gets each other
// order once; further requests for the same order get the outcome of the first, as a Repeat. doing names the
// step in errors, such as "reserve".
func Do[Q OfOrder](
	ctx context.Context, db *database.DB, doing string, all []Q, check func(Q) error, take Take[Q],
) ([]Outcome, error) {
	return each(doing, all, check, func(fit []Q, readFirst bool) (taken []Outcome, err error) {
		var refused error
		err = db.Do(ctx, func(ctx context.Context) (err error) {
			refused = nil
			if taken, err = take(ctx, fit, readFirst); err == nil && !readFirst {
				refused = taken[0].Err
				return refused
			}
			return err
		})
		if refused != nil && errors.Is(err, refused) {
			err = nil
		}
		return taken, err
	})
}

// DoStatement is Do for a step that is a single statement for one order, and changes
// nothing if it is refused: one order needs no transaction.
func DoStatement[Q OfOrder](
	ctx context.Context, db *database.DB, doing string, all []Q, take Take[Q],
) ([]Outcome, error) {
	if len(all) > 1 {
		return Do(ctx, db, doing, all, nil, take)
	}
	return each(doing, all, nil, func(fit []Q, readFirst bool) ([]Outcome, error) {
		return take(ctx, fit, readFirst)
	})
}

// each takes a step for the distinct orders that pass the check, and returns the outcomes
// of all.
func each[Q OfOrder](
	doing string, all []Q, check func(Q) error, take func(fit []Q, readFirst bool) ([]Outcome, error),
) ([]Outcome, error) {
	outcomes := make([]Outcome, len(all))
	places := map[string]int{}
	fit := make([]Q, 0, len(all))
	for i, in := range all {
		order := in.GetOrderId()
		if outcomes[i].Err = shop.CheckOrderID(order); outcomes[i].Err == nil && check != nil {
			outcomes[i].Err = check(in)
		}
		if _, again := places[order]; !again && outcomes[i].Err == nil {
			places[order] = len(fit)
			fit = append(fit, in)
		}
	}
	if len(fit) == 0 {
		return outcomes, nil
	}
	taken, err := take(fit, len(all) > 1)
	if err != nil {
		return nil, fmt.Errorf("%s order %s and %d others: %w", doing, fit[0].GetOrderId(), len(fit)-1, err)
	}
	first := 0 // the index in fit of the next order that was not seen before
	for i, in := range all {
		if outcomes[i].Err != nil {
			continue
		}
		place := places[in.GetOrderId()]
		outcomes[i] = taken[place]
		if outcomes[i].Err != nil {
			outcomes[i].Err = fmt.Errorf("%s order %s: %w", doing, in.GetOrderId(), outcomes[i].Err)
		}
		if place == first {
			first++
		} else {
			outcomes[i].Repeat = true
		}
	}
	return outcomes, nil
}

// One takes a step for one order: a batch of one.
func One[Q any](ctx context.Context, in Q, step Step[Q]) (*shoppb.StepResponse, error) {
	outcomes, err := step(ctx, []Q{in})
	if err != nil {
		return nil, err
	}
	return outcomes[0].Answer()
}

// Ask takes a step for one order.
type Ask[Q any] = func(ctx context.Context, in Q) (*shoppb.StepResponse, error)

// Alone returns an Ask that takes a step for each order apart, in a batch of one.
func Alone[Q any](step Step[Q]) Ask[Q] {
	return func(ctx context.Context, in Q) (*shoppb.StepResponse, error) { return One(ctx, in, step) }
}

// Single takes a step that is never asked for in batches.
func Single(
	ctx context.Context, db *database.DB, doing string, in *shoppb.StepRequest,
	take func(ctx context.Context, order string) (Outcome, error),
) (*shoppb.StepResponse, error) {
	return One(ctx, in, func(ctx context.Context, all []*shoppb.StepRequest) ([]Outcome, error) {
		takeAll := func(ctx context.Context, _ []*shoppb.StepRequest, _ bool) ([]Outcome, error) {
			outcome, err := take(ctx, in.GetOrderId())
			return []Outcome{outcome}, err
		}
		return Do(ctx, db, doing, all, nil, takeAll)
	})
}

// IDs returns the ids of the requests' orders.
func IDs[Q OfOrder](all []Q) []string {
	ids := make([]string, len(all))
	for i, in := range all {
		ids[i] = in.GetOrderId()
	}
	return ids
}

// Ledger keeps the state of each order in the rows of a table.
type Ledger struct {
	Rows
	db   *database.DB
	what string // what names a row, for messages: "reservation"
}

// NewLedger makes a ledger on the rows of a database's table. what names a row in messages.
func NewLedger(db *database.DB, rows Rows, what string) Ledger {
	return Ledger{Rows: rows, db: db, what: what}
}

// Begin writes the first rows of orders, and reports whether all orders are new. refused are the orders that
// were read first and were new, and that were then refused. The transaction starts again if one of the orders
// that were read first and were new, refused or not, has a row by now.
func (l Ledger) Begin(
	ctx context.Context, rows []Row, refused []string, readFirst bool,
) (fresh bool, err error) {
	if err := l.stillNew(ctx, refused); err != nil {
		return false, err
	}
	added, err := l.Insert(ctx, rows)
	if err == nil && readFirst && added < int64(len(rows)) {
		err = l.db.Contended("an order has come since the orders were read")
	}
	return added == int64(len(rows)), err
}

// stillNew returns an error, at which the transaction is tried again, if one of the orders has come since
// they were read: a step that waited for stock or money may find that its own repetition has taken the last
// of it.
func (l Ledger) stillNew(ctx context.Context, orders []string) error {
	states, err := l.States(ctx, orders)
	if err == nil && len(states) > 0 {
		err = l.db.Contended("an order has come since the orders were read")
	}
	return err
}

// Advance moves one order from one state to the next. It is a Repeat if the order is in
// the next state already, and a Conflict in any other.
func (l Ledger) Advance(ctx context.Context, order, from, to string) (Outcome, error) {
	outcomes, _, err := l.AdvanceAll(ctx, []string{order}, false, from, to,
		func(order, state string) Outcome { return l.RepeatOrConflict(order, state, to) })
	return outcomes[0], err
}

// AdvanceAll moves the orders that are in one state to the next. It returns the outcomes of all orders, and
// the ids of those that it has moved. others returns the outcome of an order in any other state; the state is
// empty if the order has no row. If readFirst is false, there must be only one order. also holds values of
// other columns; see Rows.Move.
func (l Ledger) AdvanceAll(
	ctx context.Context, orders []string, readFirst bool, from, to string,
	others func(order, state string) Outcome, also ...any,
) (outcomes []Outcome, moving []string, err error) {
	outcomes = make([]Outcome, len(orders))
	moving = orders
	read := func() error {
		states, err := l.States(ctx, orders)
		moving = nil
		for i, order := range orders {
			if states[order] == from {
				moving = append(moving, order)
			} else {
				outcomes[i] = others(order, states[order])
			}
		}
		return err
	}
	if readFirst {
		if err := read(); err != nil {
			return outcomes, nil, err
		}
	}
	moved, err := l.Move(ctx, moving, from, to, also...)
	if err != nil || moved == int64(len(moving)) {
		return outcomes, moving, err
	}
	if !readFirst { // why has it not moved?
		err = read()
	}
	if err == nil && len(moving) > 0 {
		err = l.db.Contended("an order has moved since it was read")
	}
	return outcomes, nil, err
}

// RepeatOrConflict returns the outcome of a step for an order in a state from which the step
// does not lead: a Repeat if it is one of the states to which the step leads, else a
// Conflict. The state is empty if the order has no row.
func (l Ledger) RepeatOrConflict(order, state string, to ...string) Outcome {
	switch {
	case state == "":
		return Outcome{Err: rpc.Problemf(shop.Conflict, "order %s has no %s", order, l.what)}
	case !slices.Contains(to, state):
		return Outcome{Err: rpc.Problemf(shop.Conflict, "the %s of order %s is %s, not %s", l.what, order, state,
			to[0])}
	}
	return Outcome{Repeat: true}
}
