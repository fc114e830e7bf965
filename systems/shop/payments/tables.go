package payments

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Tables are the tables of the payments. BySQL implements them in SQL, package mapped by an ORM.
type Tables interface {
	// Rows are Payments.
	steps.Rows
	// Balances returns the balances of customers, and locks their rows.
	Balances(ctx context.Context, customers []int64) (map[int64]int64, error)
	// Balance returns the balance of a customer, in cents, and whether there is an account.
	Balance(ctx context.Context, customer int64) (cents int64, found bool, err error)
	// Debit takes amounts from balances, by customer, and reports whether all balances were enough; moved is the
	// number of amounts that it has taken. It locks the accounts in their order.
	Debit(ctx context.Context, amounts map[int64]int64) (enough bool, moved int64, err error)
	// Refund gives the amount of a payment back and returns the number of changed accounts.
	Refund(ctx context.Context, order string) (changed int64, err error)
}

// Payment is a row of the table payments.
type Payment struct {
	OrderID     string `gorm:"primaryKey"`
	CustomerID  int64
	AmountCents int64
	State       string
	Journal     string
}

// Values implements steps.Row.
func (p Payment) Values(to []any) []any {
	return append(to, p.OrderID, p.CustomerID, p.AmountCents, p.State, p.Journal)
}

// Account is a row of the table accounts.
type Account struct {
	CustomerID   int64 `gorm:"primaryKey"`
	BalanceCents int64
}

// bySQL implements Tables.
type bySQL struct {
	steps.Table
	db       *database.DB
	balances []string      // SELECT, and lock, by number of customers
	debit    steps.Amounts // from the balance
}

// BySQL returns the tables in a database.
func BySQL(db *database.DB) Tables {
	return bySQL{
		db: db,
		Table: steps.NewTable(db, "payments").Of(steps.Most, "order_id", "customer_id", "amount_cents", "state",
			"journal"),
		balances: database.TextsIn(steps.Most,
			"SELECT customer_id, balance_cents FROM accounts WHERE customer_id IN", db.ForUpdate("customer_id")),
		debit: steps.NewAmounts(db, "accounts", "customer_id", "balance_cents = balance_cents - ?",
			"balance_cents"),
	}
}

func (t bySQL) Balances(ctx context.Context, customers []int64) (map[int64]int64, error) {
	return database.Pairs[int64, int64](ctx, t.db, t.balances, customers)
}

func (t bySQL) Balance(ctx context.Context, customer int64) (cents int64, found bool, err error) {
	found, err = t.db.One(ctx, []any{&cents}, "SELECT balance_cents FROM accounts WHERE customer_id = ?",
		customer)
	return cents, found, err
}

func (t bySQL) Debit(
	ctx context.Context, amounts map[int64]int64,
) (enough bool, moved int64, err error) {
	return t.debit.Move(ctx, amounts)
}

// refund gives a payment back. The amount and the customer come from the payment itself, in the same round
// trip: the subqueries are looked up by key, once.
const refund = "UPDATE accounts SET balance_cents = balance_cents +" +
	" (SELECT amount_cents FROM payments WHERE order_id = ?)" +
	" WHERE customer_id = (SELECT customer_id FROM payments WHERE order_id = ?)"

func (t bySQL) Refund(ctx context.Context, order string) (changed int64, err error) {
	return t.db.Exec(ctx, refund, order, order)
}
