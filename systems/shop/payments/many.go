package payments

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

const (
	// manyAccounts is how many accounts one statement changes. It looks through all
	// of them for each, so that more would cost more than a second statement.
	manyAccounts = 32
	// manyPayments is how many payments one statement writes.
	manyPayments = 64
)

// ChargeAll is Charge for many orders at once, in their order and in the transaction
// that the context carries: a few statements for all instead of a few for each. It
// returns for each why it is refused, nil where it is not; a refused one counts as
// voided. It is for the plain case, in which none has come before, and reports
// whether that was so. Where it was not, a part may be done: the caller undoes the
// transaction and charges order by order.
func (c *Payments) ChargeAll(ctx context.Context, all []*shoppb.AuthoriseRequest) (refused []*shoppb.Rejection, plain bool, err error) {
	for _, in := range all {
		if shop.CheckOrderID(in.GetOrderId()) != nil || in.GetAmountCents() < 1 {
			return nil, false, nil
		}
	}
	balances, err := c.balances(ctx, all)
	if err != nil {
		return nil, false, many(len(all), err)
	}
	refused = make([]*shoppb.Rejection, len(all))
	due := map[int64]int64{} // cents by customer
	rows := make([]any, 0, paymentColumns*len(all))
	voided, captured := steps.Entry(StateVoided), steps.Entry(StateCaptured)
	for n, in := range all {
		if refused[n] = balances.take(in, due); refused[n] != nil {
			rows = append(rows, in.GetOrderId(), int64(0), int64(0), StateVoided, voided)
		} else {
			rows = append(rows, in.GetOrderId(), in.GetCustomerId(), in.GetAmountCents(), StateCaptured, captured)
		}
	}
	for part := range slices.Chunk(rows, paymentColumns*manyPayments) {
		payments := len(part) / paymentColumns
		added, err := c.db.Exec(ctx, c.record[payments], part...)
		if err != nil || added != int64(payments) {
			return nil, false, many(len(all), err)
		}
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(due)), manyAccounts) {
		changed, err := c.debit(ctx, part, due)
		if err != nil || changed != int64(len(part)) {
			return nil, false, many(len(all), err)
		}
	}
	return refused, true, nil
}

// balances are those of some customers, in cents.
type balances map[int64]int64

// balances reads, and locks, the balances of all who pay.
func (c *Payments) balances(ctx context.Context, all []*shoppb.AuthoriseRequest) (balances, error) {
	paying := map[int64]bool{}
	for _, in := range all {
		paying[in.GetCustomerId()] = true
	}
	found := balances{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(paying)), manyPayments) {
		args := make([]any, len(part))
		for i, customer := range part {
			args[i] = customer
		}
		text := "SELECT customer_id, balance_cents FROM accounts WHERE customer_id IN (" + database.Placeholders(len(part)) + ")" + c.db.ForUpdate("customer_id")
		err := c.db.Each(ctx, func(row database.Row) error {
			var customer, balance int64
			err := row.Scan(&customer, &balance)
			found[customer] = balance
			return err
		}, text, args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// take takes what an order costs and adds it to what is due, or says why not.
func (b balances) take(in *shoppb.AuthoriseRequest, due map[int64]int64) *shoppb.Rejection {
	customer, amount := in.GetCustomerId(), in.GetAmountCents()
	balance, known := b[customer]
	var refusal error
	switch {
	case !known:
		refusal = noAccount(customer)
	case balance < amount:
		refusal = notCovered(customer, amount)
	default:
		b[customer] -= amount
		due[customer] += amount
		return nil
	}
	why, _ := shop.Rejects(refusal)
	return why
}

// debit takes what is due from accounts that cover it, and returns how many do.
func (c *Payments) debit(ctx context.Context, customers []int64, due map[int64]int64) (int64, error) {
	amounts := make([]any, 0, 2*len(customers))
	ids := make([]any, 0, len(customers))
	for _, customer := range customers {
		amounts = append(amounts, customer, due[customer])
		ids = append(ids, customer)
	}
	return c.db.Exec(ctx, c.debitMany[len(customers)], slices.Concat(amounts, ids, amounts)...)
}

// debits builds the statements of debit by number of accounts.
func debits(db *database.DB) []string {
	value := "?"
	if db.Driver() == database.PostgreSQL {
		value = "CAST(? AS BIGINT)" // it cannot tell the type of a CASE of placeholders
	}
	return database.Texts(manyAccounts, func(n int) string {
		amount := "CASE customer_id" + strings.Repeat(" WHEN ? THEN "+value, n) + " END"
		return "UPDATE accounts SET balance_cents = balance_cents - " + amount +
			" WHERE " + db.InKeyOrder("accounts", "customer_id", n) + " AND balance_cents >= " + amount
	})
}

// many names what was done for many orders in an error; nil stays nil.
func many(orders int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("charge %d orders: %w", orders, err)
}
