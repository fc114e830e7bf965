package orchestrated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// seed: customer 1 can pay for a product, but not for all; three of each lie on
// the shelf.
func seed() shop.Seed {
	return shop.Seed{Customers: 2, Products: 3, Stock: 3, Balance: 50_000, Random: 1}
}

// unreliable is a binding to components in this process, each with a database of
// its own, that fails one call: before or after it was carried out.
type unreliable struct {
	methods map[string]func(ctx context.Context, in any) (any, error)
	calls   int
	fail    int // the number of the call that fails; 0: none
	after   bool
	log     []string
}

var errLost = &rpc.Problem{Kind: rpc.Unavailable, Detail: "the connection is lost"}

func (u *unreliable) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		u.methods["/"+desc.ServiceName+"/"+m.MethodName] = func(ctx context.Context, in any) (any, error) {
			return m.Handler(impl, ctx, func(message any) error { return copyMessage(message, in) }, nil)
		}
	}
}

func (u *unreliable) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, errors.ErrUnsupported
}

func (u *unreliable) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	u.calls++
	failing := u.calls == u.fail
	if failing && !u.after {
		return errLost
	}
	reply, err := u.methods[method](ctx, in)
	u.log = append(u.log, filepath.Base(method))
	if failing {
		return errLost
	}
	if err != nil {
		return err
	}
	return copyMessage(out, reply)
}

// copyMessage copies a message as a wire does.
func copyMessage(to, from any) error {
	data, err := proto.Marshal(from.(proto.Message))
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, to.(proto.Message))
}

// world is a shop whose components are reached over an unreliable binding.
type world struct {
	*unreliable
	book      *orders.Book
	saga      *Coordinator
	databases map[string]*database.DB
	clock     time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{unreliable: &unreliable{methods: map[string]func(context.Context, any) (any, error){}},
		databases: map[string]*database.DB{}, clock: time.Now()}
	for _, component := range shop.Components() {
		w.databases[component] = shoptest.Open(t, databasetest.Fresh(t, database.SQLite), seed(), component)
	}
	all := shoptest.OnEach(w.databases)
	shoppb.OfferCatalog(w, all.Catalog)
	shoppb.OfferCustomers(w, all.Customers)
	shoppb.OfferInventory(w, all.Inventory)
	shoppb.OfferPayments(w, all.Payments)
	shoppb.OfferShipping(w, all.Shipping)
	w.book = all.Book
	w.saga = New(w.databases[shop.ComponentOrders], w.book,
		coordination.Asked{Catalog: shoppb.CallCatalog(w), Customers: shoppb.CallCustomers(w)},
		shop.Parts{Inventory: shoppb.CallInventory(w), Payments: shoppb.CallPayments(w),
			Shipping: shoppb.CallShipping(w)}, true)
	w.saga.now = func() time.Time { return w.clock }
	return w
}

// sum asks a component's database for a number.
func (w *world) sum(t *testing.T, component, query string) int64 {
	t.Helper()
	return shoptest.Number(t, w.databases[component], query)
}

// place orders a quantity of product 1 through the component.
func (w *world) place(t *testing.T, key string, customer, quantity int64) (*shoppb.Order, error) {
	t.Helper()
	answer, err := orders.New(w.book, w.saga).CreateOrder(t.Context(), &shoppb.CreateOrderRequest{
		IdempotencyKey: key, CustomerId: customer, Lines: []*shoppb.Line{{ProductId: 1, Quantity: quantity}},
	})
	return answer.GetOrder(), err
}

// recover lets all leases run out and finishes what is left.
func (w *world) recover(t *testing.T) {
	t.Helper()
	w.fail = 0
	w.clock = w.clock.Add(2 * orders.Lease)
	testset.Must(t, w.saga.Recover(t.Context()))
}

// check compares the tables of all components with each other.
func (w *world) check(t *testing.T, sold int64, paid int64, shipments int64) {
	t.Helper()
	for what, c := range map[string]struct{ got, want int64 }{
		"sagas left": {w.sum(t, shop.ComponentOrders,
			"SELECT COUNT(*) FROM orders WHERE lease_until_us IS NOT NULL"), 0},
		"open orders": {w.sum(t, shop.ComponentOrders,
			"SELECT COUNT(*) FROM orders WHERE state NOT IN ('confirmed', 'rejected', 'cancelled')"), 0},
		"sold":    {w.sum(t, shop.ComponentInventory, "SELECT SUM(sold) FROM stock"), sold},
		"on hand": {w.sum(t, shop.ComponentInventory, "SELECT SUM(on_hand) FROM stock"), 9 - sold},
		"money":   {w.sum(t, shop.ComponentPayments, "SELECT SUM(balance_cents) FROM accounts"), 100_000 - paid},
		"shipments": {w.sum(t, shop.ComponentShipping, "SELECT COUNT(*) FROM shipments WHERE state = 'shipped'"),
			shipments},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d (calls: %v)", what, c.got, c.want, w.log)
		}
	}
}

// TestOrdersAreLookedUpTogether: two calls for all orders of a batch, and an unknown customer or product is
// an error for its own order only.
func TestOrdersAreLookedUpTogether(t *testing.T) {
	w := newWorld(t)
	lookUp := func(orders ...*coordination.Placing) []steps.Outcome {
		outcomes, err := w.saga.lookUpAll(t.Context(), orders)
		testset.Must(t, err)
		return outcomes
	}
	order := func(customer int64, products ...int64) *coordination.Placing {
		lines := make([]*shoppb.OrderLine, len(products))
		for i, product := range products {
			lines[i] = &shoppb.OrderLine{ProductId: product, Quantity: 2}
		}
		return &coordination.Placing{Order: &shoppb.Order{CustomerId: customer, Lines: lines}}
	}
	known := []*coordination.Placing{order(1, 1, 2), order(2, 2), order(9, 1)}
	outcomes := lookUp(known...)
	if want := []string{"GetCustomers", "Quote"}; !slices.Equal(w.log, want) {
		t.Errorf("calls %v, want %v", w.log, want)
	}
	if outcomes[0].Err != nil || outcomes[1].Err != nil || !shop.IsKind(outcomes[2].Err, shop.UnknownCustomer) {
		t.Errorf("outcomes %v", outcomes)
	}
	for _, k := range known[:2] {
		if k.Customer.GetName() != seed().Customer(k.Order.GetCustomerId()).Name {
			t.Errorf("the customer is %v", k.Customer)
		}
		total := int64(0)
		for i, line := range k.Order.GetLines() {
			product := seed().Product(line.GetProductId())
			if k.Priced.GetLines()[i].GetName() != product.Name {
				t.Errorf("product %d is %v", line.GetProductId(), k.Priced.GetLines()[i])
			}
			total += 2 * product.PriceCents
		}
		if k.Priced.GetTotalCents() != total || k.Order.GetTotalCents() != 0 {
			t.Errorf("priced %v, want a copy with a total of %d", k.Priced, total)
		}
	}
	outcomes = lookUp(order(1, 1, 4), order(1, 3))
	if !shop.IsKind(outcomes[0].Err, shop.UnknownProduct) || outcomes[1].Err != nil {
		t.Errorf("outcomes %v", outcomes)
	}
}

func TestAnOrderIsConfirmed(t *testing.T) {
	w := newWorld(t)
	order, err := w.place(t, "one", 1, 2)
	if err != nil || order.GetState() != string(shop.StateConfirmed) {
		t.Fatalf("order %v, error %v", order, err)
	}
	onRecord, err := w.book.Get(t.Context(), order.GetOrderId())
	if err != nil || onRecord.String() != order.String() {
		t.Errorf("on record is %v, answered was %v (%v)", onRecord, order, err)
	}
	w.check(t, 2, order.GetTotalCents(), 1)
}

func TestARefusedStepIsCompensated(t *testing.T) {
	for name, c := range map[string]struct {
		customer, quantity int64
		kind               rpc.Kind
	}{"out of stock": {1, 4, shop.OutOfStock}, "unknown customer": {9, 1, shop.UnknownCustomer},
		"declined": {2, 3, shop.Declined}} {
		w := newWorld(t)
		if c.kind == shop.Declined { // leave too little on the account
			shoptest.Exec(t, w.databases[shop.ComponentPayments],
				"UPDATE accounts SET balance_cents = 1 WHERE customer_id = 2")
		}
		order, err := w.place(t, "one", c.customer, c.quantity)
		if err != nil || order.GetState() != string(shop.StateRejected) ||
			order.GetRejection().GetKind() != string(c.kind) {
			t.Errorf("%s: order %v, error %v", name, order, err)
			continue
		}
		missing := 100_000 - w.sum(t, shop.ComponentPayments, "SELECT SUM(balance_cents) FROM accounts")
		if c.kind != shop.Declined && missing != 0 {
			t.Errorf("%s: %d cents are missing", name, missing)
		}
		w.check(t, 0, missing, 0)
	}
}

func TestAStepThatArrivesAfterItsCompensationIsRefused(t *testing.T) {
	w := newWorld(t)
	accounts := w.databases[shop.ComponentPayments]
	shoptest.Exec(t, accounts, "UPDATE accounts SET balance_cents = 1 WHERE customer_id = 1")
	order, err := w.place(t, "one", 1, 1)
	if err != nil || order.GetState() != string(shop.StateRejected) {
		t.Fatalf("order %v, error %v", order, err)
	}
	shoptest.Exec(t, accounts, "UPDATE accounts SET balance_cents = 50000 WHERE customer_id = 1")
	late := &shoppb.ChargeRequest{OrderId: order.GetOrderId(), CustomerId: 1,
		AmountCents: order.GetTotalCents()}
	if _, err := shoppb.CallPayments(w).Charge(t.Context(), late); !shop.IsKind(err, shop.Conflict) {
		t.Errorf("a late payment: %v, want %s", err, shop.Conflict)
	}
	again := coordination.Reservation(order)
	if _, err := shoppb.CallInventory(w).Reserve(t.Context(), again); !shop.IsKind(err, shop.Conflict) {
		t.Errorf("a late reservation: %v, want %s", err, shop.Conflict)
	}
}

// TestWhateverCallIsLost fails every call of an order in turn, carried out and not,
// for an order that is confirmed and one that is refused late.
func TestWhateverCallIsLost(t *testing.T) {
	for _, balance := range []int64{50_000, 1} {
		for _, after := range []bool{false, true} {
			for fail := 1; fail <= 8; fail++ {
				t.Run(fmt.Sprintf("call %d of balance %d, after %v", fail, balance, after), func(t *testing.T) {
					w := newWorld(t)
					shoptest.Exec(t, w.databases[shop.ComponentPayments],
						"UPDATE accounts SET balance_cents = ? WHERE customer_id = 1", balance)
					w.fail = fail
					w.after = after
					_, err := w.place(t, "one", 1, 1)
					if w.calls >= fail && err == nil {
						t.Fatal("the lost call went unnoticed")
					}
					w.recover(t)
					order, err := w.place(t, "one", 1, 1) // the customer tries again with the same key
					testset.Must(t, err)
					left := w.sum(t, shop.ComponentPayments, "SELECT SUM(balance_cents) FROM accounts")
					if want := map[int64]shop.State{50_000: shop.StateConfirmed,
						1: shop.StateRejected}[balance]; order.GetState() != string(want) {
						t.Errorf("the order is %s, want %s", order.GetState(), want)
					}
					confirmed := int64(0)
					if order.GetState() == string(shop.StateConfirmed) {
						confirmed = 1
						if left != 100_000-order.GetTotalCents() {
							t.Errorf("%d cents are left of 100000 after an order of %d", left, order.GetTotalCents())
						}
					}
					w.check(t, confirmed, 100_000-left, confirmed)
				})
			}
		}
	}
}

func TestACancelledOrderIsUndoneWhateverCallIsLost(t *testing.T) {
	for fail := range 5 {
		w := newWorld(t)
		order, err := w.place(t, "one", 1, 1)
		testset.Must(t, err)
		if fail > 0 {
			w.fail = w.calls + fail
			w.after = fail%2 == 0
		}
		cancelled, err := w.saga.Cancel(t.Context(), order.GetOrderId())
		if err != nil || cancelled.GetState() != string(shop.StateCancelled) {
			t.Errorf("call %d lost: order %v, error %v", fail, cancelled, err)
		}
		w.recover(t)
		w.check(t, 0, 0, 0)
	}
}

// TestARecoveryNeedsNoCatalog: the prices of an abandoned order are on record.
func TestARecoveryNeedsNoCatalog(t *testing.T) {
	w := newWorld(t)
	w.fail = 3 // the reservation
	if _, err := w.place(t, "one", 1, 1); !shop.IsKind(err, rpc.Unavailable) {
		t.Fatalf("error %v, want %s", err, rpc.Unavailable)
	}
	w.log = nil
	w.recover(t)
	if slices.Contains(w.log, "Quote") || !slices.Contains(w.log, "Ship") {
		t.Errorf("calls %v, want the steps without a quote", w.log)
	}
}

func TestOnlyOneWorksOnASaga(t *testing.T) {
	w := newWorld(t)
	w.fail = 3 // the reservation
	if _, err := w.place(t, "one", 1, 1); !shop.IsKind(err, rpc.Unavailable) {
		t.Fatalf("error %v, want %s", err, rpc.Unavailable)
	}
	testset.Must(t, w.saga.Recover(t.Context())) // within the lease, which changes nothing
	w.clock = w.clock.Add(2 * orders.Lease)
	abandoned, err := w.book.Abandoned(t.Context(), w.clock.UnixMicro())
	if err != nil || len(abandoned) != 1 {
		t.Fatalf("abandoned: %v (%v), want one", abandoned, err)
	}
	until := w.clock.Add(orders.Lease).UnixMicro()
	_, first := w.book.Take(t.Context(), abandoned[0], until)
	_, second := w.book.Take(t.Context(), abandoned[0], until+1)
	if first != nil || !errors.Is(second, orders.ErrOvertaken) {
		t.Errorf("two took the same saga: %v, %v", first, second)
	}
}

func TestASagaGoesOnWhenTheCallerGivesUp(t *testing.T) {
	w := newWorld(t)
	ctx, giveUp := context.WithCancel(t.Context())
	pay := w.methods["/cleave.shop.v1.Payments/Charge"]
	w.methods["/cleave.shop.v1.Payments/Charge"] = func(ctx context.Context, in any) (any, error) {
		giveUp()
		return pay(ctx, in)
	}
	_, _ = orders.New(w.book, w.saga).CreateOrder(ctx,
		&shoppb.CreateOrderRequest{IdempotencyKey: "one", CustomerId: 1,
			Lines: []*shoppb.Line{{ProductId: 1, Quantity: 1}}})
	order, err := w.book.ByKey(t.Context(), "one")
	testset.Must(t, err)
	w.check(t, 1, order.GetTotalCents(), 1)
}
