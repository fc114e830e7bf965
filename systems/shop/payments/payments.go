// Package payments is the component that holds the customers' accounts. An amount
// is held back, then captured or voided, and may be refunded: balances, held and
// captured amounts always add up to what there was. It knows no orders beyond
// their ids.
package payments

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The states of a payment.
const (
	StateAuthorised = "authorised"
	StateCaptured   = "captured"
	StateVoided     = "voided"   // given back before it was captured
	StateRefunded   = "refunded" // given back after it was captured
)

// The amount and the customer come from the payment itself, in the same round
// trip: both subqueries are looked up by key, once.
const (
	ofPayment = " (SELECT amount_cents FROM payments WHERE order_id = ?)"
	ofAccount = " WHERE customer_id = (SELECT customer_id FROM payments WHERE order_id = ?)"
	capture   = "UPDATE accounts SET held_cents = held_cents -" + ofPayment + ofAccount
	refund    = "UPDATE accounts SET balance_cents = balance_cents +" + ofPayment + ofAccount
)

// Payments implements shop.Payments on its tables.
type Payments struct {
	db     *database.DB
	ledger steps.Ledger
	record []string // INSERT by number of payments
	// debitMany is UPDATE by number of accounts, see ChargeAll.
	debitMany []string
}

var _ shop.Payments = (*Payments)(nil)

// New makes the component on its database.
func New(db *database.DB) *Payments {
	return &Payments{
		db: db, ledger: steps.NewLedger(db, "payments", "payment"),
		record: database.Texts(manyPayments, func(n int) string {
			return "INSERT INTO payments (order_id, customer_id, amount_cents, state, journal) VALUES " + database.Values(n, paymentColumns) + db.KeepExisting("order_id")
		}),
		debitMany: debits(db),
	}
}

// paymentColumns is how many values a payment is written with.
const paymentColumns = 5

// Authorise implements shop.Payments.
func (c *Payments) Authorise(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error) {
	order, customer, amount := in.GetOrderId(), in.GetCustomerId(), in.GetAmountCents()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	if amount < 1 {
		return nil, shop.Problemf(shop.InvalidArgument, "order %s: an amount of %d cents cannot be authorised", order, amount)
	}
	answer := &shoppb.StepResponse{}
	err := c.db.Do(ctx, func(ctx context.Context) error {
		added, err := c.db.Exec(ctx, c.record[1], order, customer, amount, StateAuthorised, steps.Entry(StateAuthorised))
		if err != nil {
			return err
		}
		answer.Repeat = added == 0
		if answer.Repeat {
			return c.ledger.Expect(ctx, order, StateAuthorised, StateCaptured)
		}
		return c.hold(ctx, customer, amount)
	})
	return answer, steps.Named("authorise", order, err)
}

// hold moves an amount from the balance to what is held.
func (c *Payments) hold(ctx context.Context, customer, amount int64) error {
	held, err := c.db.Exec(ctx, `UPDATE accounts SET balance_cents = balance_cents - ?, held_cents = held_cents + ?
WHERE customer_id = ? AND balance_cents >= ?`, amount, amount, customer, amount)
	if err != nil || held == 1 {
		return err
	}
	if _, err := c.GetAccount(ctx, &shoppb.GetAccountRequest{CustomerId: customer}); err != nil {
		return err
	}
	return notCovered(customer, amount)
}

func notCovered(customer, amount int64) error {
	return shop.Problemf(shop.Declined, "the balance of customer %d does not cover %d cents", customer, amount)
}

func noAccount(customer int64) error {
	return shop.Problemf(shop.UnknownCustomer, "customer %d has no account", customer)
}

// Capture implements shop.Payments.
func (c *Payments) Capture(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.step(ctx, "capture", in.GetOrderId(), StateAuthorised, StateCaptured, func(ctx context.Context) (int64, error) {
		return c.db.Exec(ctx, capture, in.GetOrderId(), in.GetOrderId())
	})
}

// Charge implements shop.Payments.
func (c *Payments) Charge(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error) {
	var answer *shoppb.StepResponse
	err := c.db.Do(ctx, func(ctx context.Context) (err error) {
		if _, err = c.Authorise(ctx, in); err != nil {
			return err
		}
		answer, err = c.Capture(ctx, &shoppb.StepRequest{OrderId: in.GetOrderId()})
		return err
	})
	return answer, err
}

// Refund implements shop.Payments.
func (c *Payments) Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.step(ctx, "refund", in.GetOrderId(), StateCaptured, StateRefunded, func(ctx context.Context) (int64, error) {
		return c.db.Exec(ctx, refund, in.GetOrderId(), in.GetOrderId())
	})
}

// Void implements shop.Payments.
func (c *Payments) Void(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	var answer *shoppb.StepResponse
	err := c.db.Do(ctx, func(ctx context.Context) error {
		added, err := c.db.Exec(ctx, c.record[1], order, 0, 0, StateVoided, steps.Entry(StateVoided))
		if err != nil || added > 0 {
			answer = &shoppb.StepResponse{}
			return err
		}
		answer, err = c.step(ctx, "void", order, StateAuthorised, StateVoided, func(ctx context.Context) (int64, error) {
			return c.giveBack(ctx, order)
		})
		return err
	})
	return answer, err
}

// giveBack moves the amount of an order from what is held to the balance.
func (c *Payments) giveBack(ctx context.Context, order string) (int64, error) {
	return c.db.Exec(ctx, "UPDATE accounts SET balance_cents = balance_cents +"+ofPayment+", held_cents = held_cents -"+ofPayment+ofAccount,
		order, order, order)
}

// step moves the money of an order along with its state. move returns how many
// accounts it has changed.
func (c *Payments) step(ctx context.Context, doing, order, from, to string, move func(context.Context) (int64, error)) (*shoppb.StepResponse, error) {
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	return c.ledger.Step(ctx, doing, order, from, to, func(ctx context.Context) error {
		changed, err := move(ctx)
		if err == nil && changed != 1 {
			return shop.Problemf(shop.Internal, "%d accounts changed: the accounts disagree with the payments", changed)
		}
		return err
	})
}

// GetAccount implements shop.Payments.
func (c *Payments) GetAccount(ctx context.Context, in *shoppb.GetAccountRequest) (*shoppb.Account, error) {
	account := &shoppb.Account{CustomerId: in.GetCustomerId()}
	found, err := c.db.One(ctx, []any{&account.BalanceCents, &account.HeldCents},
		"SELECT balance_cents, held_cents FROM accounts WHERE customer_id = ?", in.GetCustomerId())
	if err != nil {
		return nil, fmt.Errorf("get account of customer %d: %w", in.GetCustomerId(), err)
	}
	if !found {
		return nil, noAccount(in.GetCustomerId())
	}
	return account, nil
}
