package steps_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/mapped"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// parts are the components with steps, each on a database of its own: nothing is
// shared, as in separate services.
type parts struct {
	inventory shop.Inventory
	payments  shop.Payments
	shipping  shop.Shipping
	// Where they keep their tables.
	stock, accounts, parcels *database.DB
}

// maxCases is the number of cases that find products and a customer of their own: products
// of 10, customers with 1000 cents.
const maxCases = 60

func newParts(t *testing.T, open func(t testing.TB) database.Config) parts {
	t.Helper()
	seed := shop.Seed{Customers: maxCases, Products: 2 * maxCases, Stock: 10, Balance: 1000}
	owned := func(component string) *database.DB { return shoptest.Open(t, open(t), seed, component) }
	stock := owned(shop.ComponentInventory)
	accounts := owned(shop.ComponentPayments)
	parcels := owned(shop.ComponentShipping)
	return parts{inventory.New(stock, inventory.BySQL(stock), false),
		payments.New(accounts, payments.BySQL(accounts), false),
		shipping.New(parcels, shipping.BySQL(parcels), false), stock, accounts, parcels}
}

// mapped returns the components that reach the same tables by an ORM.
func (p parts) mapped() parts {
	stores := mapped.Stores{}
	p.inventory = inventory.New(p.stock, stores.Inventory(p.stock), false)
	p.payments = payments.New(p.accounts, stores.Payments(p.accounts), false)
	p.shipping = shipping.New(p.parcels, stores.Shipping(p.parcels), false)
	return p
}

// do takes a step by its name for the order, customer and products of a case.
func (p parts) do(number int64, name string) error {
	ctx := context.Background()
	order := fmt.Sprintf("order-%d", number)
	step := &shoppb.StepRequest{OrderId: order}
	var err error
	switch name {
	case "reserve":
		_, err = p.inventory.Reserve(ctx, &shoppb.ReserveRequest{OrderId: order,
			Lines: []*shoppb.Line{{ProductId: number + maxCases, Quantity: 1}, {ProductId: number, Quantity: 4}}})
	case "commit":
		_, err = p.inventory.Commit(ctx, step)
	case "release":
		_, err = p.inventory.Release(ctx, step)
	case "restock":
		_, err = p.inventory.Restock(ctx, step)
	case "charge":
		_, err = p.payments.Charge(ctx, &shoppb.ChargeRequest{OrderId: order, CustomerId: number,
			AmountCents: 400})
	case "void":
		_, err = p.payments.Void(ctx, step)
	case "refund":
		_, err = p.payments.Refund(ctx, step)
	case "ship":
		_, err = p.shipping.Ship(ctx, &shoppb.ShipRequest{OrderId: order, Recipient: "Ada",
			Address: "1 Lamp Street"})
	case "recall":
		_, err = p.shipping.Recall(ctx, step)
	default:
		err = fmt.Errorf("there is no step %q", name)
	}
	return err
}

// holds returns the stock of the first product of a case (on hand, reserved and sold) and
// the balance of its customer.
func (p parts) holds(t *testing.T, number int64) string {
	t.Helper()
	ctx := context.Background()
	var onHand, reserved, sold int64
	if _, err := p.stock.One(ctx, []any{&onHand, &reserved, &sold},
		"SELECT on_hand, reserved, sold FROM stock WHERE product_id = ?", number); err != nil {
		t.Fatal(err)
	}
	account, err := p.payments.GetAccount(ctx, &shoppb.GetAccountRequest{CustomerId: number})
	testset.Must(t, err)
	return fmt.Sprintf("%d %d %d, %d", onHand, reserved, sold, account.GetBalanceCents())
}

// TestSteps takes steps in turn, each twice: the second time changes nothing. The
// last one may be refused.
func TestSteps(t *testing.T) {
	cases := []struct {
		steps   []string
		refused bool // the last step, with Conflict
		holds   string
	}{
		{[]string{"reserve"}, false, "6 4 0, 1000"},
		{[]string{"reserve", "commit"}, false, "6 0 4, 1000"},
		{[]string{"reserve", "commit", "reserve"}, false, "6 0 4, 1000"},
		{[]string{"reserve", "release"}, false, "10 0 0, 1000"},
		{[]string{"reserve", "commit", "restock"}, false, "10 0 0, 1000"},
		{[]string{"release"}, false, "10 0 0, 1000"},
		{[]string{"release", "reserve"}, true, "10 0 0, 1000"},
		{[]string{"reserve", "release", "reserve"}, true, "10 0 0, 1000"},
		{[]string{"reserve", "release", "commit"}, true, "10 0 0, 1000"},
		{[]string{"reserve", "commit", "release"}, true, "6 0 4, 1000"},
		{[]string{"reserve", "commit", "restock", "commit"}, true, "10 0 0, 1000"},
		{[]string{"commit"}, true, "10 0 0, 1000"},
		{[]string{"reserve", "restock"}, true, "6 4 0, 1000"},
		{[]string{"charge"}, false, "10 0 0, 600"},
		{[]string{"charge", "refund"}, false, "10 0 0, 1000"},
		{[]string{"void"}, false, "10 0 0, 1000"},
		{[]string{"void", "charge"}, true, "10 0 0, 1000"},
		{[]string{"charge", "void"}, true, "10 0 0, 600"},
		{[]string{"charge", "refund", "charge"}, true, "10 0 0, 1000"},
		{[]string{"void", "refund"}, true, "10 0 0, 1000"},
		{[]string{"refund"}, true, "10 0 0, 1000"},
		{[]string{"ship"}, false, "10 0 0, 1000"},
		{[]string{"ship", "recall"}, false, "10 0 0, 1000"},
		{[]string{"recall"}, false, "10 0 0, 1000"},
		{[]string{"recall", "ship"}, true, "10 0 0, 1000"},
		{[]string{"ship", "recall", "ship"}, true, "10 0 0, 1000"},
	}
	databasetest.Each(t, func(t *testing.T, open func(t testing.TB) database.Config) {
		bySQL := newParts(t, open)
		byORM := newParts(t, open).mapped()
		for i, c := range slices.Concat(cases, cases) {
			p := bySQL
			if i >= len(cases) {
				p = byORM
			}
			number := int64(i + 1)
			t.Run(fmt.Sprint(c.steps), func(t *testing.T) {
				for n, name := range c.steps {
					for range 2 {
						err := p.do(number, name)
						refused := c.refused && n == len(c.steps)-1
						if refused && !shop.IsKind(err, shop.Conflict) || !refused && err != nil {
							t.Fatalf("%s = %v, refused should be %v", name, err, refused)
						}
					}
				}
				p.expectJournal(t, fmt.Sprintf("order-%d", number), c.steps, c.refused)
				if got := p.holds(t, number); got != c.holds {
					t.Errorf("on hand, reserved, sold, balance = %s, want %s", got, c.holds)
				}
			})
		}
	})
}

// TestStepsRefuse: what is short or malformed leaves no trace, so that the step
// may succeed later.
func TestStepsRefuse(t *testing.T) {
	p := newParts(t, func(t testing.TB) database.Config {
		return database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/shop.db"}
	})
	ctx := context.Background()
	reserve := func(order string, lines ...*shoppb.Line) error {
		_, err := p.inventory.Reserve(ctx, &shoppb.ReserveRequest{OrderId: order, Lines: lines})
		return err
	}
	charge := func(order string, customer, amount int64) error {
		_, err := p.payments.Charge(ctx, &shoppb.ChargeRequest{OrderId: order, CustomerId: customer,
			AmountCents: amount})
		return err
	}
	cases := []struct {
		name string
		err  error
		want rpc.Kind
	}{
		{"one line short", reserve("order-1", &shoppb.Line{ProductId: 1, Quantity: 11}), shop.OutOfStock},
		{"one of two short", reserve("order-1", &shoppb.Line{ProductId: 1, Quantity: 1},
			&shoppb.Line{ProductId: 2, Quantity: 11}), shop.OutOfStock},
		{"no such product", reserve("order-1", &shoppb.Line{ProductId: 999, Quantity: 1}), shop.OutOfStock},
		{"no lines", reserve("order-1"), rpc.InvalidArgument},
		{"no order", reserve("", &shoppb.Line{ProductId: 1, Quantity: 1}), rpc.InvalidArgument},
		{"short of money", charge("order-1", 1, 1001), shop.Declined},
		{"no such customer", charge("order-1", 999, 1), shop.UnknownCustomer},
		{"nothing to pay", charge("order-1", 1, 0), rpc.InvalidArgument},
		{"pay without order", charge("", 1, 1), rpc.InvalidArgument},
	}
	for _, c := range cases {
		if !shop.IsKind(c.err, c.want) {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
	}
	for _, name := range []string{"reserve", "charge", "ship"} {
		if err := p.do(1, name); err != nil {
			t.Errorf("after refusals, %s = %v", name, err)
		}
	}
	if got := p.holds(t, 1); got != "6 4 0, 600" {
		t.Errorf("after refusals: %s", got)
	}
}
