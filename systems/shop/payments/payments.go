// Package payments is the component that holds the customers' accounts. An amount
// is captured, and may be refunded: balances and captured amounts always add up to
// the initial balances. It knows no orders beyond their ids.
package payments

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The states of a payment.
const (
	StateCaptured = "captured"
	StateVoided   = "voided"   // forbidden before it was captured
	StateRefunded = "refunded" // given back after it was captured
)

// Payments implements shop.Payments on its tables, each step for many orders at once.
type Payments struct {
	db     *database.DB
	tables Tables
	ledger steps.Ledger

	chargeOne steps.Ask[*shoppb.ChargeRequest]
}

var _ shop.Payments = (*Payments)(nil)

// New makes the component on the tables of its database. batch: concurrent calls of Charge share a
// transaction.
func New(db *database.DB, tables Tables, batch bool) *Payments {
	c := &Payments{db: db, tables: tables, ledger: steps.NewLedger(db, tables, "payment")}
	c.chargeOne = batching.Ask(db, c.ChargeAll, batch)
	return c
}

// Charge implements shop.Payments.
func (c *Payments) Charge(ctx context.Context, in *shoppb.ChargeRequest) (*shoppb.StepResponse, error) {
	return c.chargeOne(ctx, in)
}

// ChargeAll is Charge for a batch of orders, in their order.
func (c *Payments) ChargeAll(ctx context.Context, all []*shoppb.ChargeRequest) ([]steps.Outcome, error) {
	check := func(in *shoppb.ChargeRequest) error {
		if in.GetAmountCents() < 1 {
			return rpc.Problemf(rpc.InvalidArgument, "order %s: an amount of %d cents cannot be paid",
				in.GetOrderId(), in.GetAmountCents())
		}
		return nil
	}
	return steps.Do(ctx, c.db, "charge", all, check, c.charge)
}

// charge takes the amounts of orders from the balances; see steps.Take for readFirst. If that is false there
// is one order: if it turns out to be known, charge starts again and reads first.
func (c *Payments) charge(
	ctx context.Context, all []*shoppb.ChargeRequest, readFirst bool,
) ([]steps.Outcome, error) {
	var known map[string]string
	var balances map[int64]int64
	if readFirst {
		var err error
		if known, err = c.ledger.States(ctx, steps.IDs(all)); err != nil {
			return nil, err
		}
		if balances, err = c.balancesOf(ctx, all, known); err != nil {
			return nil, err
		}
	}
	outcomes := make([]steps.Outcome, len(all))
	due := map[int64]int64{}
	entry := steps.Entry(StateCaptured)
	var rows []steps.Row
	var refused []string
	for n, in := range all {
		order := in.GetOrderId()
		customer := in.GetCustomerId()
		amount := in.GetAmountCents()
		if state := known[order]; state != "" {
			outcomes[n] = c.ledger.RepeatOrConflict(order, state, StateCaptured)
			continue
		}
		if readFirst {
			if outcomes[n].Err = covers(balances, customer, amount); outcomes[n].Err != nil {
				refused = append(refused, order)
				continue
			}
			balances[customer] -= amount
		}
		rows = append(rows, Payment{order, customer, amount, StateCaptured, entry})
		due[customer] += amount
	}
	if fresh, err := c.ledger.Begin(ctx, rows, refused, readFirst); err != nil {
		return nil, err
	} else if !fresh {
		return c.charge(ctx, all, true)
	}
	enough, moved, err := c.tables.Debit(ctx, due)
	if err == nil && !enough {
		if readFirst {
			return nil, rpc.Problemf(rpc.Internal, "%d of %d accounts changed: the balances are not what was locked",
				moved, len(due))
		}
		outcomes[0].Err = c.notCovered(ctx, all[0]) // the only order
	}
	return outcomes, err
}

// balancesOf reads and locks the balances of the customers of orders that are not known.
func (c *Payments) balancesOf(
	ctx context.Context, all []*shoppb.ChargeRequest, known map[string]string,
) (map[int64]int64, error) {
	paying := map[int64]bool{}
	for _, in := range all {
		if known[in.GetOrderId()] == "" {
			paying[in.GetCustomerId()] = true
		}
	}
	return c.tables.Balances(ctx, slices.Sorted(maps.Keys(paying)))
}

// covers returns nil if the balances, in cents, cover an amount, or the reason why not.
func covers(balances map[int64]int64, customer, amount int64) error {
	balance, known := balances[customer]
	switch {
	case !known:
		return noAccount(customer)
	case balance < amount:
		return declined(customer, amount)
	}
	return nil
}

// notCovered returns the reason why an amount could not be taken.
func (c *Payments) notCovered(ctx context.Context, in *shoppb.ChargeRequest) error {
	if _, err := c.GetAccount(ctx, &shoppb.GetAccountRequest{CustomerId: in.GetCustomerId()}); err != nil {
		return err
	}
	return declined(in.GetCustomerId(), in.GetAmountCents())
}

func declined(customer, amount int64) error {
	return rpc.Problemf(shop.Declined, "the balance of customer %d does not cover %d cents", customer, amount)
}

func noAccount(customer int64) error {
	return rpc.Problemf(shop.UnknownCustomer, "customer %d has no account", customer)
}

// Refund implements shop.Payments.
func (c *Payments) Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return steps.Single(ctx, c.db, "refund", in, func(ctx context.Context, order string) (steps.Outcome, error) {
		outcome, err := c.ledger.Advance(ctx, order, StateCaptured, StateRefunded)
		if err != nil || outcome.Repeat || outcome.Err != nil {
			return outcome, err
		}
		changed, err := c.tables.Refund(ctx, order)
		if err == nil && changed != 1 {
			err = rpc.Problemf(rpc.Internal, "%d accounts changed: the accounts disagree with the payments", changed)
		}
		return outcome, err
	})
}

// Void implements shop.Payments.
func (c *Payments) Void(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return steps.One(ctx, in, c.VoidAll)
}

// VoidAll is Void for a batch of orders.
func (c *Payments) VoidAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return steps.Do(ctx, c.db, "void", all, nil, c.void)
}

// void forbids the payments that were not captured; see charge for readFirst.
func (c *Payments) void(
	ctx context.Context, all []*shoppb.StepRequest, readFirst bool,
) (outcomes []steps.Outcome, err error) {
	var known map[string]string
	if readFirst {
		if known, err = c.ledger.States(ctx, steps.IDs(all)); err != nil {
			return nil, err
		}
	}
	outcomes = make([]steps.Outcome, len(all))
	entry := steps.Entry(StateVoided)
	var rows []steps.Row
	for n, in := range all {
		if state := known[in.GetOrderId()]; state == "" {
			rows = append(rows, Payment{OrderID: in.GetOrderId(), State: StateVoided, Journal: entry})
		} else {
			outcomes[n] = c.ledger.RepeatOrConflict(in.GetOrderId(), state, StateVoided)
		}
	}
	fresh, err := c.ledger.Begin(ctx, rows, nil, readFirst)
	if err == nil && !fresh {
		return c.void(ctx, all, true)
	}
	return outcomes, err
}

// GetAccount implements shop.Payments.
func (c *Payments) GetAccount(ctx context.Context, in *shoppb.GetAccountRequest) (*shoppb.Account, error) {
	balance, found, err := c.tables.Balance(ctx, in.GetCustomerId())
	if err != nil {
		return nil, fmt.Errorf("get account of customer %d: %w", in.GetCustomerId(), err)
	}
	if !found {
		return nil, noAccount(in.GetCustomerId())
	}
	return &shoppb.Account{CustomerId: in.GetCustomerId(), BalanceCents: balance}, nil
}
